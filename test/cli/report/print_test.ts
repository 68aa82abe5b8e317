import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { makeVisible, print, stringifyVisibly } from "../../../src/cli/report/print.ts";
import {
  type DriftReport,
  driftTable,
  githubAnnotations,
  markdownReport,
} from "../../../src/cli/drift/drift_report.ts";
import type { Finding } from "../../../src/recording/drift/findings.ts";

/** A stream that takes some bytes a write, or throws; when its turns are over it takes everything. */
function streamOf(turns: readonly (number | Error)[]) {
  const written: number[] = [];
  const left = [...turns];
  return {
    written,
    writeSync: (bytes: Uint8Array): number => {
      const turn = left.shift() ?? bytes.length;
      if (turn instanceof Error) throw turn;
      written.push(...bytes.subarray(0, turn));
      return Math.min(turn, bytes.length);
    },
  };
}

function textOf({ written }: { readonly written: readonly number[] }): string {
  return new TextDecoder().decode(Uint8Array.from(written));
}

Deno.test("print() continues after a partial write", () => {
  const stream = streamOf([1, 2, 0, 1]);
  print(stream, "ünïcödé 👍🏽\n");
  assertEquals(textOf(stream), "ünïcödé 👍🏽\n");
});

Deno.test("print() tries again while a pipe is full", () => {
  const full = new Deno.errors.WouldBlock("full");
  const stream = streamOf([3, full, full, 2, full]);
  print(stream, "0123456789");
  assertEquals(textOf(stream), "0123456789");
});

Deno.test("print() stops without a word when the reader is gone", () => {
  const stream = streamOf([3, new Deno.errors.BrokenPipe("gone")]);
  print(stream, "0123456789");
  assertEquals(textOf(stream), "012");
});

Deno.test("print() names other write errors", () => {
  const cause = new Error("No space left on device (os error 28)");
  const error = assertThrows(
    () => print(streamOf([cause]), "text"),
    CliError,
    "Cannot write the output: No space left on device (os error 28)",
  );
  assertEquals([error.exitCode, error.cause], [2, cause]);
});

Deno.test("visible() names control, order and hidden characters", () => {
  assertEquals(makeVisible("plain\tünï 漢字 ❤️ \u{1f44d}\n"), "plain\tünï 漢字 ❤️ \u{1f44d}\n");
  assertEquals(makeVisible("\x1b]52;c;eA==\x07"), "<U+001B>]52;c;eA==<U+0007>");
  assertEquals(makeVisible("a\rb\x9bc\x7f"), "a<U+000D>b<U+009B>c<U+007F>");
  assertEquals(
    makeVisible("\u202eevil\u2066\u200b\u2028\u{e0041}"),
    [
      ...["<U+202E>evil<U+2066>", "<U+200B>", "<U+2028>", "<U+E0041>"],
    ].join(""),
  );
});

/** Characters that nobody sees, one family a row. */
const UNSEEN: Readonly<Record<string, readonly number[]>> = {
  controls: [0x00, 0x07, 0x08, 0x0b, 0x0d, 0x1b, 0x7f, 0x80, 0x85, 0x9b, 0x9d, 0x9f],
  "direction marks": [0x61c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069],
  "zero width": [0xad, 0x180e, 0x200b, 0x200c, 0x200d, 0x2060, 0x2064, 0x206f, 0xfeff, 0x1d173],
  fillers: [0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0, 0x16fe4, 0x1d159],
  selectors: [0x180b, 0x180d, 0xfe00, 0xfe0e, 0xfe0f, 0xe0100, 0xe01ef],
  tags: [0xe0001, 0xe0020, 0xe0041, 0xe007f, 0xe0fff],
  blanks: [0xa0, 0x1680, 0x2000, 0x2007, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000],
  "no characters": [0xd800, 0xdfff, 0xfdd0, 0xfffc, 0xfffe, 0x10ffff],
};

for (const [family, codes] of Object.entries(UNSEEN)) {
  Deno.test(`visible() names invisible characters: ${family}`, () => {
    for (const code of codes) {
      const name = `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
      const character = String.fromCodePoint(code);
      assertEquals(makeVisible(`a${character}b${character}`), `a${name}b${name}`);
      // For machines it stays what it is, in a spelling that shows.
      const json = stringifyVisibly([`a${character}`]);
      assertEquals(JSON.parse(json), [`a${character}`]);
      assertEquals(makeVisible(json), json);
    }
  });
}

Deno.test("visible() keeps every script", () => {
  for (
    const text of [
      "e\u0301 ệ नि क्षि 한국어 \u1112\u1161 ไทย עברית ﷺ",
      "✓ … │ ❯ — ⠋ \ue0b0 👍🏽 ☎\ufe0f ㊗\ufe0f",
    ]
  ) assertEquals(makeVisible(text), text);
  assertEquals(makeVisible("❤\ufe0f\ufe0f a\ufe0f"), "❤\ufe0f<U+FE0F> a<U+FE0F>");
});

Deno.test("visible() limits marks and length", () => {
  assertEquals(makeVisible(`a${"\u0301".repeat(1000)}b`), `a${"\u0301".repeat(8)}<992 marks>b`);
  const long = "x".repeat(40_000);
  assertEquals(
    makeVisible(`${long}\nshort`),
    `${long.slice(0, 32_768)}<7232 more characters>\nshort`,
  );
});

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

Deno.test("hostile names stay text", () => {
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
