import type { Environment } from "../../sandbox/environment.ts";
import type { Finding } from "../../recording/drift/findings.ts";
import { createRedactor } from "../../recording/redaction/redact.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";
import { count, print, printLines, stringifyVisibly } from "../report/print.ts";

/** Prints the report. Under GitHub Actions, also prints annotations. */
export function printDrift(
  report: DriftReport & { readonly ok: boolean },
  { json, env }: { readonly json: boolean; readonly env: Environment },
): void {
  const { text: redact } = createRedactor({ env });
  const isGithub = env["GITHUB_ACTIONS"] === "true";
  const text = json ? `${stringifyVisibly(report)}\n` : driftTable(report);
  printLines(redact(text));
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
/** The maximum width of a cell. The JSON has the complete text. */
const MAX_CELL_WIDTH = 60;

/** Formats the report for a person. */
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

/** The maximum number of annotations that GitHub shows for a step. */
const MAX_ANNOTATIONS = 10;
/** The maximum number of rows of a summary. Even with the longest names, it stays below GitHub's limit. */
const MAX_ROWS = 200;

/** The findings as annotations of GitHub Actions, one line for each. */
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

/** Escapes the value of a workflow command, so that it cannot end the line or begin another command. */
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

/** Formats the report as Markdown, for the summary of a step and for an issue. */
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

/** Formats a text as code in which nothing is markup or mentions a user. */
function markdownCode(text: string): string {
  return `<code>${escapeMarkdown(text)}</code>`;
}

function escapeMarkdown(text: string): string {
  return escapeInvisible(text).replace(
    /[^\p{L}\p{N}\p{M} ]/gu,
    (character) => `&#${character.codePointAt(0)};`,
  );
}

export interface DriftReport {
  readonly recordings: number;
  readonly frames: number;
  readonly events: number;
  /** Answers of the model. */
  readonly answers: number;
  /** Cassettes and tapes with nothing to check. */
  readonly empty: readonly string[];
  /** The number of recordings of each version of Claude Code; "" is an unknown version. */
  readonly versions: Readonly<Record<string, number>>;
  /** The examined Agent SDKs, such as `claude-agent-sdk 0.2.189 (Python)`. */
  readonly sdks: readonly string[];
  /** The Claude Code that repeated the cassettes. */
  readonly against?: {
    readonly version: string;
    /** The number of repeated recordings. */
    readonly again: number;
    readonly skipped: readonly { readonly path: string; readonly why: string }[];
  };
  readonly findings: readonly Finding[];
  /** The number of further findings that are only counted. */
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

/** Returns true if there was nothing to check, or nothing that could be repeated. */
export function isEmptyReport({ recordings, against }: DriftReport): boolean {
  return recordings === 0 || against?.again === 0;
}

/** Summarizes the report in a sentence without its full stop. */
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

function formatPlace({ first: { path, line } }: Finding): string {
  return line === 0 ? path : `${path}:${line}`;
}
