import { fileAt } from "../../../ffi/files/at_path.ts";
import { CliError } from "../../cli_error.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** What Claude Code's own sandbox is made of on Linux: programs, and the packages that have them. */
const NEEDED = { bwrap: "bubblewrap", socat: "socat" } as const;

/**
 * The packages that Claude Code's own sandbox lacks: without any it carries commands out in there, else without it, as it
 * says on its screen alone (2.1.330).
 *
 * @param settings later ones overriding earlier ones
 * @returns undefined where settings do not ask for a sandbox
 * @throws {CliError} where it would end in the middle of the turn without a word, because settings require the sandbox
 */
export function sandboxLackOf(
  settings: readonly JsonObject[],
  { PATH = "" }: Environment,
): readonly string[] | undefined {
  const said = (name: string) =>
    settings.map(({ sandbox }) => isJsonObject(sandbox) ? sandbox[name] : undefined)
      .findLast((value) => typeof value === "boolean") === true;
  if (!said("enabled")) return undefined;
  const folders = PATH.split(":").filter((dir) => dir.startsWith("/"));
  const missing = Object.entries(NEEDED).flatMap(([name, pack]) =>
    folders.some((dir) => fileAt(`${dir}/${name}`) !== undefined) ? [] : pack
  );
  if (missing.length > 0 && said("failIfUnavailable")) {
    throw new CliError(
      `Cannot start claude: settings require its sandbox, which takes ${missing.join(" and ")}`,
      { suggestion: `Install ${missing.join(" and ")}, or set sandbox.failIfUnavailable to false` },
    );
  }
  return missing;
}
