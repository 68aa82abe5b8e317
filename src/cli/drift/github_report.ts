import type { Finding } from "../../recording/drift/finding.ts";
import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { type DriftReport, isEmptyReport, placeWords, reportWords } from "./drift_report.ts";

/** GitHub shows no more of a step. */
const MOST_ANNOTATIONS = 10;
/** Rows of a summary: with names of the longest it stays below what GitHub takes. */
const MOST_ROWS = 200;

/** The findings as annotations of GitHub Actions, a line each. */
export function githubAnnotations(report: DriftReport): readonly string[] {
  const { findings } = report;
  if (isEmptyReport(report) && findings.length === 0) {
    return [`::error title=drift::${data(reportWords(report))}`];
  }
  return findings.slice(0, MOST_ANNOTATIONS).map((finding) => {
    const { by, check, where, what, count, first } = finding;
    const line = first.line === 0 ? "" : `,line=${first.line}`;
    const title = property(`drift: ${check}`);
    const words = `${by}: ${check} in ${where}: ${what} (${count} times)`;
    return `::error file=${property(first.path)}${line},title=${title}::${data(words)}`;
  });
}

/** The value of a workflow command: nothing in it ends the line or begins another command. */
function data(text: string): string {
  return nameUnseen(text).replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A")
    .replaceAll("##[", "## [");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/** The same as a table in Markdown, for the summary of a step and for an issue. */
export function markdownReport(report: DriftReport): string {
  const { findings } = report;
  const shown = findings.slice(0, MOST_ROWS);
  const rows = shown.map((finding) => `| ${cellsOf(finding).map(code).join(" | ")} |`);
  const more = findings.length - shown.length;
  return [
    `${escaped(reportWords(report))}.`,
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
  return [by, check, where, what, String(count), placeWords(finding)];
}

/** A text that is shown as it is: it makes no markup, and calls nobody. */
function code(text: string): string {
  return `<code>${escaped(text)}</code>`;
}

function escaped(text: string): string {
  return nameUnseen(text).replace(
    /[^\p{L}\p{N}\p{M} ]/gu,
    (character) => `&#${character.codePointAt(0)};`,
  );
}
