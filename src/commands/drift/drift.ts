import { findCassettes } from "../../cassette/read/find_cassettes.ts";
import type { DriftOptions } from "../../cli/parsed_arguments.ts";
import { Findings } from "../../drift/findings.ts";
import { knownShapes } from "../../drift/known_shapes.ts";
import { lookForDrift } from "../../drift/examine/look_for_drift.ts";
import { foundSdks, namedSdk } from "../../drift/sdk/installed_sdks.ts";
import { createRedactor } from "../../redaction/redact.ts";
import { currentFolder } from "../../run/facts/current_folder.ts";
import { callerEnvironment, type Environment } from "../../sandbox/environment.ts";
import { print, reportJson } from "../report/print.ts";
import { askSdks } from "./ask_sdks.ts";
import type { DriftReport } from "./drift_report.ts";
import { driftTable } from "./drift_table.ts";
import { githubAnnotations, markdownReport } from "./github_report.ts";

/**
 * Looks what cassettes and tapes hold that is not as it is known.
 *
 * @returns the exit code: 1 when something is not, or when there was nothing to look at
 * @throws {CliError} when a path does not exist, its layout cannot be told, or an SDK that was named cannot be asked
 */
export async function drift(options: DriftOptions): Promise<number> {
  const env = callerEnvironment();
  const { inputName } = options;
  const cassettes = findCassettes(options.paths, inputName === undefined ? {} : { inputName });
  const findings = new Findings();
  const known = knownShapes();
  const sdks = askSdks(
    options.sdks?.map(namedSdk) ?? foundSdks({ env, cwd: currentFolder() }),
    { known, findings },
  );
  const { versions, ...checked } = lookForDrift(cassettes, {
    known,
    findings,
    onFrame: sdks.onFrame,
  });
  const report: DriftReport = {
    ...checked,
    versions: Object.fromEntries(versions),
    sdks: await sdks.asked(cassettes),
    findings: findings.sorted(),
    left: findings.left,
  };
  const isEmpty = report.recordings === 0 && !options.allowEmpty;
  const ok = report.findings.length === 0 && !isEmpty;
  say({ ...report, ok }, { json: options.json, env });
  return ok ? 0 : 1;
}

/** Tells a person or a machine, and GitHub where it runs this. */
function say(
  report: DriftReport & { readonly ok: boolean },
  { json, env }: { readonly json: boolean; readonly env: Environment },
): void {
  const { text: redact } = createRedactor({ env });
  const isGithub = env["GITHUB_ACTIONS"] === "true";
  const told = json ? `${reportJson(report)}\n` : driftTable(report);
  // GitHub looks for commands of an older kind anywhere in a line.
  print(Deno.stdout, redact(isGithub ? told.replaceAll("##[", json ? "\\u0023#[" : "# #[") : told));
  if (!isGithub) return;
  if (!report.ok) {
    for (const line of githubAnnotations(report)) print(Deno.stderr, redact(`${line}\n`));
  }
  const { GITHUB_STEP_SUMMARY: summary } = env;
  if (summary === undefined || summary === "") return;
  try {
    Deno.writeTextFileSync(summary, redact(`${markdownReport(report)}\n`), { append: true });
  } catch (error) {
    print(Deno.stderr, `claude-print: Cannot write the summary: ${(error as Error).message}\n`);
  }
}
