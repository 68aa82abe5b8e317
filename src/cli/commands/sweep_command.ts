import type { SweepRequest } from "../arguments/parsed_arguments.ts";
import { count, print, stringifyVisibly } from "../report/print.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { sweep, type SweepVerdict, type SweptFolder } from "../../sandbox/folder/sweep.ts";
import { listPlaces } from "../../sandbox/folder/run_places.ts";
import { requireProc } from "../../sandbox/require_system.ts";
import { locateUserConfig } from "../../sandbox/user_config.ts";

/**
 * Removes the remains of earlier runs from temporary folders. Prints a line for each folder and a summary, or a JSON
 * array.
 *
 * @returns the exit code: 2 if something could not be removed
 * @throws {CliError} when the user's config folder is unknown, or there is no `/proc`
 */
export function sweepCommand({ dryRun, json }: SweepRequest): number {
  const env = callerEnvironment();
  requireProc();
  const all = listPlaces(env);
  const swept = sweep({ places: all, userConfigDir: locateUserConfig(env).dir, dryRun });
  print(Deno.stdout, `${json ? stringifyVisibly(swept) : formatSweep(swept, all)}\n`);
  return swept.some(({ verdict }) => verdict === "kept") ? 2 : 0;
}

function formatSweep(swept: readonly SweptFolder[], all: readonly string[]): string {
  if (swept.length === 0) return escapeInvisible(`No run has left anything in ${all.join(", ")}`);
  const lines = swept.map(({ path, verdict, reason, rescued }) => {
    const more = rescued === 0 ? "" : `, ${count(rescued, "file")} of its transcript rescued`;
    return escapeInvisible(`${verdict.padEnd(9)}  ${path}: ${reason}${more}`);
  });
  const verdicts: readonly SweepVerdict[] = ["removed", "abandoned", "kept", "live", "foreign"];
  const counts = verdicts.flatMap((verdict) => {
    const { length } = swept.filter((folder) => folder.verdict === verdict);
    return length === 0 ? [] : [`${length} ${verdict}`];
  });
  return [...lines, `${count(swept.length, "folder")}: ${counts.join(", ")}`].join("\n");
}
