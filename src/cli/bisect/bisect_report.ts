import { createRedactor } from "../../recording/redaction/redact.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { printLines, reportJson, visible } from "../report/print.ts";
import type { Difference, Examiner } from "./examiner.ts";
import type { Verdict } from "./search.ts";

/** A version that was examined. */
export interface TestedVersion {
  readonly version: string;
  readonly verdict: Verdict;
  /** Why it was skipped. */
  readonly why?: string;
}

/** What came of a bisection. */
export type BisectReport =
  & {
    readonly good: string;
    readonly bad: string;
    /** How many versions there are from the good one to the bad one. */
    readonly versions: number;
    /** Cassettes that were not run again, and why not. */
    readonly cassettes: Examiner["skipped"];
    /** In the order in which they were examined. */
    readonly tested: readonly TestedVersion[];
  }
  & ({ readonly found: false } | {
    readonly found: true;
    /** The first version that differs. */
    readonly first: string;
    readonly lastGood: string;
    /** Versions between these two that could not be examined: each may be the first one. */
    readonly undecided: readonly string[];
    /** What the first version does differently from the good one. */
    readonly differences: readonly Difference[];
  });

/** Prints the report for a person, or as one JSON object. */
export function printBisectReport(
  report: BisectReport,
  { json, env }: { readonly json: boolean; readonly env: Environment },
): void {
  const { text: redact } = createRedactor({ env });
  printLines(redact(`${json ? reportJson(report) : visible(bisectText(report))}\n`));
}

/** The report in lines for a person. */
export function bisectText(report: BisectReport): string {
  const { good, bad, versions, cassettes, tested } = report;
  const judged = tested.filter(({ verdict }) => verdict !== "skipped")
    .map(({ version, verdict }) => `${version} ${verdict}`);
  return [
    ...(report.found ? foundLines(report) : [`${bad} does the same as ${good}.`]),
    "",
    `Examined ${judged.length} of ${versions} versions: ${judged.join(", ")}`,
    ...tested.flatMap(({ version, why }) =>
      why === undefined ? [] : [`Skipped ${version}: ${why}`]
    ),
    ...cassettes.map(({ path, why }) => `Skipped ${path}: ${why}`),
  ].join("\n");
}

function foundLines(
  { first, lastGood, undecided, differences }: Extract<BisectReport, { readonly found: true }>,
): readonly string[] {
  return [
    undecided.length === 0
      ? `${first} is the first version that differs, ${lastGood} the last good one.`
      : `${first} differs, ${lastGood} is the last good one. In between, ${
        undecided.join(" and ")
      } could not be examined.`,
    ...differences.map(({ cassette, where, what }) =>
      `  ${[...(cassette === undefined ? [] : [cassette]), where, what].join(": ")}`
    ),
  ];
}
