import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import { type DriftReport, placeWords, reportWords } from "./drift_report.ts";

const HEAD = ["by", "check", "in", "what", "times", "first"] as const;
/** Most characters of a cell: the JSON has all of it. */
const WIDEST = 60;

/** What came of a look for drift, as lines for a person. */
export function driftTable(report: DriftReport): string {
  const rows = report.findings.map((finding) =>
    [
      finding.by,
      finding.check,
      finding.where,
      finding.what,
      String(finding.count),
      placeWords(finding),
    ].map((text, column) => column === HEAD.length - 1 ? nameUnseen(text) : cell(text))
  );
  const table = [HEAD, ...rows];
  const widths = HEAD.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) =>
    row.map((text, column) => text.padEnd(widths[column] ?? 0)).join("  ").trimEnd()
  );
  const shown = rows.length === 0 ? [] : [...lines, ""];
  const skipped = (report.against?.skipped ?? [])
    .map(({ path, why }) => nameUnseen(`Not run again: ${path}: ${why}`));
  const empty = report.empty.map((path) => nameUnseen(`Nothing to check in ${path}`));
  return [...shown, ...empty, ...skipped, nameUnseen(reportWords(report))]
    .map((line) => `${line}\n`).join("");
}

function cell(text: string): string {
  const seen = nameUnseen(text);
  return seen.length <= WIDEST ? seen : `${seen.slice(0, WIDEST - 1)}…`;
}
