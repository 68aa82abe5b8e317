import { findCassettes, type FoundCassette } from "../../recording/cassette/read/find_cassettes.ts";
import { CliError } from "../../cli_error.ts";
import type { CassetteOptions } from "../arguments/parsed_arguments.ts";
import { scrubCassette, type ScrubReport } from "../../recording/lint/scrub_cassette.ts";
import { scrubInto } from "../../recording/lint/scrub_into.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";
import { ownTraces } from "../../recording/redaction/known_traces.ts";
import { createRedactor } from "../../recording/redaction/redact.ts";
import { callerEnvironment } from "../../sandbox/environment.ts";
import { print, printLines } from "../report/print.ts";
import { problemText } from "../report/report_error.ts";
import { lintCassette, type ReplayKind } from "../../recording/lint/lint_cassette.ts";

/**
 * Finds the cassettes and tapes at paths.
 *
 * @param options.to the action, for the error
 * @throws {CliError} when there is none, or a folder is ambiguous
 */
function findCassettesOrFail(
  { paths, inputName }: {
    readonly paths: readonly string[];
    readonly inputName?: string | undefined;
  },
  { to, ...error }: { readonly to: string; readonly exitCode?: number },
): readonly FoundCassette[] {
  const found = findCassettes(paths, { inputName });
  if (found.length > 0) return found;
  const what = inputName === undefined
    ? { lack: "", hint: "" }
    : { lack: `, nor a folder with ${inputName}`, hint: ", or by --input-name the tape in each" };
  throw new CliError(
    `Cannot ${to} ${paths.join(", ")}: there is no cassette, and no tape${what.lack}`,
    { suggestion: `Name a cassette, a tape (*.jsonl), or a folder of them${what.hint}`, ...error },
  );
}

/**
 * Removes texts that identify the machine or its user from cassettes and tapes.
 *
 * @throws {CliError} when there is none, or one cannot be read or written
 */
export function scrubCassettes(
  { paths, inputName, prompts, answers, names, out }: Extract<
    CassetteOptions,
    { readonly action: "scrub" }
  >,
): number {
  const found = findCassettesOrFail({ paths, inputName }, { to: "scrub" });
  const env = callerEnvironment();
  const options = {
    blanked: { prompts, answers },
    redactor: createRedactor({ env }),
    known: { ...ownTraces({ env }), words: names },
  };
  const printReport = (name: string, report: ScrubReport) =>
    printLines(`${escapeInvisible(`${name}: ${describeChanges(report)}`)}\n`);
  if (out === undefined) {
    for (const one of found) printReport(one.name, scrubCassette(one, options));
    return 0;
  }
  const { reports, leftOut } = scrubInto(out, { ...options, paths, inputName });
  for (const [name, report] of reports) printReport(name, report);
  if (leftOut.length > 0) print(Deno.stderr, problemText({ message: describeNotCopied(leftOut) }));
  return 0;
}

/** The maximum number of named files. */
const MAX_NAMED_FILES = 5;

function describeNotCopied(files: readonly string[]): string {
  const more = files.length - MAX_NAMED_FILES;
  const names = files.slice(0, MAX_NAMED_FILES).map((name) => escapeInvisible(name)).join(", ");
  return `Not copied, because they are no parts of cassettes: ${names}${
    more > 0 ? ` and ${more} more` : ""
  }`;
}

function describeChanges(report: ScrubReport): string {
  const changed = Object.entries(report).filter(([, count]) => count > 0).map(([name, count]) => {
    const noun = name === "api" ? "exchange" : "line";
    return `${count} ${noun}${count === 1 ? "" : "s"} of ${name}`;
  });
  return changed.length === 0 ? "nothing to take out" : `changed ${changed.join(", ")}`;
}

const WAY_NAMES: Readonly<Record<ReplayKind, string>> = {
  world: "as the world",
  program: "as the program",
  api: "as the API",
};

/**
 * Prints the possible replays and the problems of each cassette and tape.
 *
 * @returns the exit code: 1 for a problem
 * @throws {CliError} when there is none
 */
export function lintCassettes(
  { paths, inputName }: Extract<CassetteOptions, { readonly action: "lint" }>,
): number {
  const found = findCassettesOrFail({ paths, inputName }, { to: "check", exitCode: 1 });
  const env = callerEnvironment();
  const options = { redactor: createRedactor({ env }), known: ownTraces({ env }) };
  let wrong = 0;
  for (const one of found) {
    const { replays, problems } = lintCassette(one, options);
    if (problems.length > 0) wrong++;
    const ways = replays.map((way) => WAY_NAMES[way]);
    const head = ways.length === 0
      ? `${one.name} does not replay`
      : `${one.name} replays ${ways.join(", ")}`;
    const lines = [
      `${problems.length === 0 ? "ok   " : "wrong"} ${head}`,
      ...problems.map((problem) => `      ${problem}`),
    ];
    printLines(lines.map((line) => `${escapeInvisible(line)}\n`).join(""));
  }
  if (found.length > 1) printLines(`${found.length} checked, ${wrong} wrong\n`);
  return wrong === 0 ? 0 : 1;
}
