import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { findCassettes, type FoundCassette } from "../../recording/cassette/read/find_cassettes.ts";
import type { DriftOptions } from "../arguments/parsed_arguments.ts";
import { examineRecordings, type OnFrame } from "../../recording/drift/examine_recordings.ts";
import { type Finding, Findings } from "../../recording/drift/findings.ts";
import { type KnownClaude, knownShapes } from "../../recording/drift/known_shapes.ts";
import { findSdks, type InstalledSdk, sdkAt } from "../../recording/drift/installed_sdks.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { callerEnvironment, type Environment } from "../../sandbox/environment.ts";
import { borrowFolder } from "../../sandbox/folder/borrow_folder.ts";
import { findComparedClaude, runAgain } from "./run_again.ts";
import { createRedactor } from "../../recording/redaction/redact.ts";
import { count, print, printLines, stringifyVisibly } from "../report/print.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";
import { TAPE_FILE } from "../../recording/cassette/cassette_format.ts";
import { CliError } from "../../cli_error.ts";
import { createDeclarationCheck, readDeclarations } from "../../recording/drift/typescript_sdk.ts";
import { pythonVerdict } from "../../recording/drift/python_sdk.ts";

/**
 * Looks what cassettes and tapes hold that is not as it is known, and what another Claude Code does otherwise.
 *
 * @returns the exit code: 1 when something is not, or when there was nothing to look at
 * @throws {CliError} when a path does not exist, its layout cannot be told, or who was named cannot be asked
 */
export async function drift(options: DriftOptions): Promise<number> {
  const stop = new AbortController();
  let exitCode = 0;
  const listen = () =>
    listenToSignals(["SIGINT", "SIGTERM", "SIGHUP"], (signal) => {
      exitCode = 128 + SIGNALS[signal];
      stop.abort();
    });
  using undo = new DisposableStack();
  try {
    return await checkForDrift(options, { signal: stop.signal, listen, undo });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    return exitCode;
  }
}

async function checkForDrift(
  options: DriftOptions,
  { signal, listen, undo }: {
    readonly signal: AbortSignal;
    /** From now on a signal aborts this, and does not end the program. */
    readonly listen: () => Disposable;
    readonly undo: DisposableStack;
  },
): Promise<number> {
  const env = callerEnvironment();
  const cwd = currentFolder();
  const { inputName, against, allowedTools: allowed } = options;
  const known = knownShapes();
  const findings = new Findings();
  const named = findCassettes(options.paths, inputName === undefined ? {} : { inputName });
  const sdks = prepareSdks(options.sdks?.map(sdkAt) ?? findSdks({ env, cwd }), { known, findings });
  // Where it only reads, a signal ends the program at once.
  if (against !== undefined) undo.use(listen());
  const again = against === undefined
    ? undefined
    : await compareWithClaude(named, { against, allowed, env, cwd, findings, signal, undo });
  const cassettes = [...named, ...again?.cassettes ?? []];
  const { versions, ...checked } = examineRecordings(cassettes, {
    known,
    findings,
    onFrame: sdks.onFrame,
  });
  if (against === undefined) undo.use(listen());
  const names = await sdks.asked(cassettes, signal);
  const report: DriftReport = {
    ...checked,
    versions: Object.fromEntries(versions),
    sdks: names,
    ...(again === undefined ? {} : { against: again.told }),
    findings: again === undefined ? findings.sorted() : findings.sorted().map(again.named),
    left: findings.left,
  };
  const ok = report.findings.length === 0 && (options.allowEmpty || !isEmptyReport(report));
  // Whoever does not read on holds up the program, which then hears of no signal itself: it is to end by one.
  undo.dispose();
  printDrift({ ...report, ok }, { json: options.json, env });
  return ok ? 0 : 1;
}

/** What another Claude Code does: the recordings of it, which are gone once all is said. */
async function compareWithClaude(
  cassettes: readonly FoundCassette[],
  { against, undo, ...options }: {
    readonly against: string;
    readonly allowed: readonly string[];
    readonly env: Environment;
    readonly cwd: string;
    readonly findings: Findings;
    readonly signal: AbortSignal;
    readonly undo: DisposableStack;
  },
) {
  const folder = undo.use(borrowFolder(options.env)).path;
  const claude = undo.use(await findComparedClaude(against, options));
  const { recorded, skipped } = await runAgain(cassettes, { ...options, folder, claude });
  return {
    told: { version: claude.version, again: recorded.size, skipped },
    cassettes: [...recorded.keys()].map((path) => ({ kind: "folder", path, name: path }) as const),
    /** A finding with the name of the cassette in the place of the recording's. */
    named: (finding: Finding): Finding => {
      const { path, line } = finding.first;
      const [from, to] = [...recorded].find(([from]) => path.startsWith(`${from}/`)) ?? [];
      return from === undefined
        ? finding
        : { ...finding, first: { path: `${to}${path.slice(from.length)} run again`, line } };
    },
  };
}

/** Tells a person or a machine, and GitHub where it runs this. */
function printDrift(
  report: DriftReport & { readonly ok: boolean },
  { json, env }: { readonly json: boolean; readonly env: Environment },
): void {
  const { text: redact } = createRedactor({ env });
  const isGithub = env["GITHUB_ACTIONS"] === "true";
  const told = json ? `${stringifyVisibly(report)}\n` : driftTable(report);
  printLines(redact(told));
  if (!isGithub) return;
  if (!report.ok) {
    for (const line of githubAnnotations(report)) {
      print(Deno.stderr, redact(`${line}\n`), { commands: true });
    }
  }
  const { GITHUB_STEP_SUMMARY: summary } = env;
  if (summary === undefined || summary === "") return;
  try {
    Deno.writeTextFileSync(summary, redact(`${markdownReport(report)}\n`), { append: true });
  } catch (error) {
    print(Deno.stderr, `claude-print: Cannot write the summary: ${(error as Error).message}\n`);
  }
}

const HEADINGS = ["by", "check", "in", "what", "times", "first"] as const;
/** Most characters of a cell: the JSON has all of it. */
const MAX_CELL_WIDTH = 60;

/** What came of a look for drift, as lines for a person. */
export function driftTable(report: DriftReport): string {
  const rows = report.findings.map((finding) =>
    [
      finding.by,
      finding.check,
      finding.where,
      finding.what,
      String(finding.count),
      formatPlace(finding),
    ].map((text, column) =>
      column === HEADINGS.length - 1 ? escapeInvisible(text) : shortenCell(text)
    )
  );
  const table = [HEADINGS, ...rows];
  const widths = HEADINGS.map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0))
  );
  const lines = table.map((row) =>
    row.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ").trimEnd()
  );
  const shown = rows.length === 0 ? [] : [...lines, ""];
  const skipped = (report.against?.skipped ?? [])
    .map(({ path, why }) => escapeInvisible(`Not run again: ${path}: ${why}`));
  const empty = report.empty.map((path) => escapeInvisible(`Nothing to check in ${path}`));
  return [...shown, ...empty, ...skipped, escapeInvisible(summarize(report))]
    .map((line) => `${line}\n`).join("");
}

function shortenCell(text: string): string {
  const seen = escapeInvisible(text);
  return seen.length <= MAX_CELL_WIDTH ? seen : `${seen.slice(0, MAX_CELL_WIDTH - 1)}…`;
}

/** GitHub shows no more of a step. */
const MAX_ANNOTATIONS = 10;
/** Rows of a summary: with names of the longest it stays below what GitHub takes. */
const MAX_ROWS = 200;

/** The findings as annotations of GitHub Actions, a line each. */
export function githubAnnotations(report: DriftReport): readonly string[] {
  const { findings } = report;
  if (isEmptyReport(report) && findings.length === 0) {
    return [`::error title=drift::${annotationValue(summarize(report))}`];
  }
  return findings.slice(0, MAX_ANNOTATIONS).map((finding) => {
    const { by, check, where, what, count, first } = finding;
    const line = first.line === 0 ? "" : `,line=${first.line}`;
    const title = annotationProperty(`drift: ${check}`);
    const words = `${by}: ${check} in ${where}: ${what} (${count} times)`;
    return `::error file=${annotationProperty(first.path)}${line},title=${title}::${
      annotationValue(words)
    }`;
  });
}

/** The value of a workflow command: nothing in it ends the line or begins another command. */
function annotationValue(text: string): string {
  return escapeInvisible(text).replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll(
    "\n",
    "%0A",
  )
    .replaceAll("##[", "## [");
}

function annotationProperty(text: string): string {
  return annotationValue(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/** The same as a table in Markdown, for the summary of a step and for an issue. */
export function markdownReport(report: DriftReport): string {
  const { findings } = report;
  const shown = findings.slice(0, MAX_ROWS);
  const rows = shown.map((finding) => `| ${cellsOf(finding).map(markdownCode).join(" | ")} |`);
  const more = findings.length - shown.length;
  return [
    `${escapeMarkdown(summarize(report))}.`,
    "",
    ...(rows.length === 0 ? [] : [
      "| by | check | in | what | times | first |",
      "| --- | --- | --- | --- | --- | --- |",
      ...rows,
      "",
    ]),
    ...(more === 0 ? [] : [`${more} more are not shown.`, ""]),
  ].join("\n");
}

function cellsOf(finding: Finding): readonly string[] {
  const { by, check, where, what, count } = finding;
  return [by, check, where, what, String(count), formatPlace(finding)];
}

/** A text that is shown as it is: it makes no markup, and calls nobody. */
function markdownCode(text: string): string {
  return `<code>${escapeMarkdown(text)}</code>`;
}

function escapeMarkdown(text: string): string {
  return escapeInvisible(text).replace(
    /[^\p{L}\p{N}\p{M} ]/gu,
    (character) => `&#${character.codePointAt(0)};`,
  );
}

/** What came of a look for drift. */
export interface DriftReport {
  readonly recordings: number;
  readonly frames: number;
  readonly events: number;
  /** Answers of the model. */
  readonly answers: number;
  /** Cassettes and tapes that hold nothing that could be looked at. */
  readonly empty: readonly string[];
  /** How many recordings there are of each version of Claude Code; of an unknown one by "". */
  readonly versions: Readonly<Record<string, number>>;
  /** Who was asked beside this program, such as `claude-agent-sdk 0.2.189 (Python)`. */
  readonly sdks: readonly string[];
  /** The Claude Code that did the same again, if one did, and which cassettes it did not. */
  readonly against?: {
    readonly version: string;
    /** How many recordings it has given. */
    readonly again: number;
    readonly skipped: readonly { readonly path: string; readonly why: string }[];
  };
  readonly findings: readonly Finding[];
  /** How many more there are than are told apart. */
  readonly left: number;
}

function summarizeChecks(
  { recordings, frames, events, answers, versions, ...rest }: DriftReport,
): string {
  const { sdks, against } = rest;
  const of = Object.entries(versions).toSorted(([one], [other]) => one < other ? -1 : 1)
    .map(([version, number]) => `${number} of ${version === "" ? "an unknown version" : version}`);
  return [
    `Checked ${count(recordings, "recording")} (${of.join(", ")})`,
    `${count(frames, "frame")}, ${count(events, "event")} of terminals, ${
      count(answers, "answer")
    } of the API`,
    ...(sdks.length === 0 ? [] : [`with ${sdks.join(" and ")}`]),
    ...(against === undefined
      ? []
      : [`${against.again} of them run again by Claude Code ${against.version}`]),
  ].join("; ");
}

/** Whether there was nothing to look at, or nothing that could be run again. */
function isEmptyReport({ recordings, against }: DriftReport): boolean {
  return recordings === 0 || against?.again === 0;
}

/** What came of it, in a sentence without its end. */
function summarize(report: DriftReport): string {
  const isNothing = report.recordings === 0;
  if (isNothing && report.findings.length === 0) return "Nothing was found to check";
  const checked = isNothing ? "Nothing could be checked" : summarizeChecks(report);
  return `${checked}: ${summarizeFindings(report)}`;
}

function summarizeFindings(report: DriftReport): string {
  const { findings, left } = report;
  if (findings.length === 0) {
    return isEmptyReport(report) ? "nothing could be run again" : "no drift";
  }
  const more = left === 0 ? "" : `, and ${left} more that are not told apart`;
  return `${count(findings.length, "difference")}${more}`;
}

/** What an SDK's or this program's finding is about, in one text. */
function formatPlace({ first: { path, line } }: Finding): string {
  return line === 0 ? path : `${path}:${line}`;
}

/** Agent SDKs that are asked what they make of frames. */
interface SdkChecks {
  /** Takes each frame that is looked at. */
  readonly onFrame: OnFrame;
  /** Waits for those that look for themselves, and gives the names of all. */
  readonly asked: (
    cassettes: readonly FoundCassette[],
    signal?: AbortSignal,
  ) => Promise<readonly string[]>;
}

/** @throws {CliError} when one that was named cannot be asked */
export function prepareSdks(
  sdks: readonly InstalledSdk[],
  { known, findings }: { readonly known: KnownClaude; readonly findings: Findings },
): SdkChecks {
  const checks = sdks.flatMap((sdk) => {
    if (sdk.kind !== "typescript") return [];
    const check = createDeclarationCheck(readDeclarations(sdk.declarations), known);
    return check === undefined ? [] : [{ by: sdk.name, check }];
  });
  return {
    onFrame: (frame, place) => {
      for (const { by, check } of checks) {
        for (const found of check(frame)) findings.add(found, { place, by });
      }
    },
    asked: async (cassettes, signal) => {
      const names = checks.map(({ by }) => by);
      for (const sdk of sdks) {
        if (sdk.kind !== "python") continue;
        const name = await askPythonSdk(sdk, { cassettes, findings, signal });
        if (name !== undefined) names.push(name);
      }
      return names;
    },
  };
}

/** Gives the SDK's name; nothing where the interpreter was only found and has none. */
async function askPythonSdk(
  { python, isNamed }: Extract<InstalledSdk, { readonly kind: "python" }>,
  { cassettes, findings, signal }: {
    readonly cassettes: readonly FoundCassette[];
    readonly findings: Findings;
    readonly signal: AbortSignal | undefined;
  },
): Promise<string | undefined> {
  const tapes = new Map(cassettes.flatMap(({ kind, path }) => {
    const tape = kind === "tape" ? path : `${path}/${TAPE_FILE}`;
    const real = realPathOfFile(tape);
    return real === undefined ? [] : [[real, tape]];
  }));
  const verdict = await pythonVerdict(python, { tapes: [...tapes.keys()], signal });
  if (verdict === undefined) {
    if (!isNamed) return undefined;
    throw new CliError(`Cannot ask the Agent SDK of ${python}: it has none`, {
      suggestion: "Install it there: pip install claude-agent-sdk",
    });
  }
  const { name: by, found, left } = verdict;
  for (const { place: { path, line }, count, ...rest } of found) {
    findings.add(rest, { by, count, place: { path: tapes.get(path) ?? path, line } });
  }
  findings.leave(left);
  return by;
}

/** The path of a file without links; nothing for what an interpreter would wait for. */
function realPathOfFile(path: string): string | undefined {
  try {
    return Deno.statSync(path).isFile ? Deno.realPathSync(path) : undefined;
  } catch {
    return undefined;
  }
}
