import { assert, assertEquals, assertMatch } from "@std/assert";
import type { DriftReport } from "../../../src/commands/drift/drift_report.ts";
import { driftTable } from "../../../src/commands/drift/drift_table.ts";
import { githubAnnotations, markdownReport } from "../../../src/commands/drift/github_report.ts";
import type { Finding } from "../../../src/drift/finding.ts";

const FINDING: Finding = {
  by: "claude-print",
  check: "field new",
  where: "frame result/success",
  what: "mood",
  count: 2,
  first: { path: "a/tape.jsonl", line: 3 },
};
const REPORT: DriftReport = {
  recordings: 2,
  frames: 10,
  events: 1,
  answers: 0,
  empty: [],
  versions: { "2.1.330": 1, "": 1 },
  sdks: [],
  findings: [FINDING],
  left: 0,
};
/** What a recording may call a field, or a folder a file. */
const HOSTILE =
  "a|b`c`\n::error::x\r##[error]y\x1b[31m<img src=x> @somebody #1 [l](http://x) \\| \u202e*z*";

Deno.test("the table for a person", () => {
  assertEquals(
    driftTable(REPORT),
    `by            check      in                    what  times  first
claude-print  field new  frame result/success  mood  2      a/tape.jsonl:3

Checked 2 recordings (1 of an unknown version, 1 of 2.1.330); 10 frames, 1 event of terminals, 0 answers of the API: 1 difference
`,
  );
  assertEquals(
    driftTable({ ...REPORT, recordings: 0, empty: ["a"], findings: [] }),
    "Nothing to check in a\nNothing was found to check\n",
  );
  const skipped = [{ path: "a", why: "it has no result" }];
  const against = { version: "2.1.330", again: 0, skipped };
  assertEquals(
    driftTable({ ...REPORT, findings: [], against }),
    "Not run again: a: it has no result\n" +
      "Checked 2 recordings (1 of an unknown version, 1 of 2.1.330); 10 frames, 1 event of terminals, 0 answers of the API; " +
      "0 of them run again by Claude Code 2.1.330: nothing could be run again\n",
  );
});

Deno.test("an annotation of GitHub's for each difference", () => {
  assertEquals(githubAnnotations(REPORT), [
    "::error file=a/tape.jsonl,line=3,title=drift%3A field new::" +
    "claude-print: field new in frame result/success: mood (2 times)",
  ]);
  assertEquals(githubAnnotations({ ...REPORT, recordings: 0, findings: [] }), [
    "::error title=drift::Nothing was found to check",
  ]);
  const many = { ...REPORT, findings: Array<Finding>(50).fill(FINDING) };
  assertEquals(githubAnnotations(many).length, 10);
});

Deno.test("no name can end a line, begin a command, drive a terminal or make markup", () => {
  const finding = { ...FINDING, where: HOSTILE, what: HOSTILE, first: { path: HOSTILE, line: 0 } };
  const report = { ...REPORT, findings: [finding] };
  const lines = driftTable(report).split("\n");
  assertEquals(lines.length, 5);
  const [annotation = "", ...more] = githubAnnotations(report);
  assertEquals(more, []);
  assertMatch(annotation, /^::error file=[^:,]*,title=[^:,]*::[^\n\r]*$/u);
  assert(!annotation.includes("##["));
  const markdown = markdownReport(report);
  const row = markdown.split("\n").find((line) => line.startsWith("| <code>")) ?? "";
  assertEquals(row.split("|").length, 8);
  assertMatch(row.replaceAll(/<\/?code>/gu, ""), /^[\p{L}\p{N} |&#;]*$/u);
  for (const text of [lines.join(""), annotation, markdown.replaceAll("\n", "")]) {
    assert(!/[\p{Cc}\u202e]/u.test(text));
  }
});

Deno.test("the summary shows no more rows than GitHub takes", () => {
  const findings = Array<Finding>(1000).fill({
    ...FINDING,
    what: "|".repeat(200),
    where: "|".repeat(200),
  });
  const markdown = markdownReport({ ...REPORT, findings });
  assert(markdown.includes("800 more are not shown."));
  assert(markdown.length < 1024 * 1024);
});
