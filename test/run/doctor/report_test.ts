import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  type Check,
  formatBytes,
  formatDuration,
  renderCheck,
  reportStyle,
} from "../../../src/run/doctor/check_report.ts";
import {
  clockInput,
  judgeRun,
  RUN_CLOCK_START,
  sessionFacts,
} from "../../../src/run/doctor/run_check.ts";
import type { RunReport } from "../../../src/run/perform_run.ts";
import type { Input } from "../../../src/conversation/control/input.ts";
import { parseEntry } from "../../../src/claude/transcript/entry.ts";

const PLAIN = { unicode: true, colour: false, columns: Infinity };
const GOOD: Check = { name: "pty", ok: true, detail: "a shell ran", data: {} };
const BAD: Check = { ...GOOD, ok: false, detail: "no shell ran", suggestion: "Install one" };
const SKIPPED: Check = { ...GOOD, skipped: true, detail: "needs libc" };

Deno.test("a check is a mark, a name and a detail", () => {
  const ascii = { ...PLAIN, unicode: false };
  const coloured = { ...PLAIN, colour: true };
  const rows = [
    [GOOD, PLAIN, "✓ pty        a shell ran\n"],
    [BAD, PLAIN, "✗ pty        no shell ran\n             Install one\n"],
    [SKIPPED, PLAIN, "- pty        needs libc\n"],
    [GOOD, ascii, "ok   pty        a shell ran\n"],
    [BAD, ascii, "FAIL pty        no shell ran\n                Install one\n"],
    [SKIPPED, ascii, "skip pty        needs libc\n"],
    [GOOD, coloured, "\x1b[32m✓\x1b[m pty        a shell ran\n"],
    [SKIPPED, coloured, "\x1b[2m-\x1b[m pty        needs libc\n"],
  ] as const;
  for (const [check, style, text] of rows) assertEquals(renderCheck(check, style), text);
});

Deno.test("lines break between words and show no control characters", () => {
  const detail = "one two three four five /a/path/that/is/longer/than/the/line six";
  assertEquals(renderCheck({ ...BAD, detail }, { ...PLAIN, columns: 30 }).split("\n"), [
    "✗ pty        one two three",
    "             four five",
    "             /a/path/that/is/longer/than/the/line",
    "             six",
    "             Install one",
    "",
  ]);
  const hostile = renderCheck({ ...GOOD, detail: "a\x1b]0;t\x07b\r\nc\u202ed\x9bH" }, PLAIN);
  assert(!/(?!\n)[\p{Cc}\p{Cf}]/u.test(hostile), JSON.stringify(hostile));
  const invisible = "in /tmp/\u3164\u2800\ufe0f\u{e0100}\u00a0x";
  assertEquals(
    renderCheck({ ...GOOD, detail: invisible }, PLAIN),
    "✓ pty        in /tmp/<U+3164><U+2800><U+FE0F><U+E0100><U+00A0>x\n",
  );
});

Deno.test("the style follows locale, terminal and NO_COLOR", () => {
  const style = (env: Record<string, string>, columns?: number) => reportStyle({ env, columns });
  const locales = [
    [{ LANG: "C.UTF-8" }, true],
    [{ LANG: "en_GB.utf8", LC_CTYPE: "", LC_ALL: "" }, true],
    [{ LANG: "en_GB.UTF-8", LC_CTYPE: "C" }, false],
    [{ LANG: "C", LC_CTYPE: "C", LC_ALL: "de_DE.UTF-8" }, true],
    [{}, false],
  ] as const;
  for (const [env, unicode] of locales) assertEquals(style(env).unicode, unicode);
  const terminals = [
    [{}, 80, true],
    [{}, undefined, false],
    [{ NO_COLOR: "1" }, 80, false],
    [{ NO_COLOR: "" }, 80, true],
    [{ TERM: "dumb" }, 80, false],
  ] as const;
  for (const [env, columns, colour] of terminals) {
    const found = style(env, columns);
    assertEquals([found.colour, found.columns], [colour, columns ?? Infinity]);
  }
});

Deno.test("bytes and durations have fitting units", () => {
  const [second, hour] = [1000, 3_600_000];
  const bytes = [
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 kB"],
    [61_440, "61.4 kB"],
    [83_151_437_824, "83.2 GB"],
    [5e12, "5.0 TB"],
    [5e15, "5000.0 TB"],
  ] as const;
  const durations = [
    [0, "0 s"],
    [1999, "1 s"],
    [119 * second, "119 s"],
    [120 * second, "2 min"],
    [2 * hour - 1, "119 min"],
    [2 * hour, "2 h"],
    [48 * hour - 1, "47 h"],
    [48 * hour, "2 days"],
    [365 * 24 * hour, "365 days"],
  ] as const;
  for (const [count, words] of bytes) assertEquals(formatBytes(count), words);
  for (const [ms, words] of durations) assertEquals(formatDuration(ms), words);
});

Deno.test("the clock keeps the first time of each step", () => {
  const times = (inputs: readonly Input[]) => inputs.reduce(clockInput, RUN_CLOCK_START).times;
  const terminal = (at: number, text: string): Input => ({
    at,
    type: "terminal",
    bytes: new TextEncoder().encode(text),
  });
  const hook = (at: number, event: "SessionStart" | "Stop"): Input => ({
    at,
    type: "hook",
    event,
    payload: {},
  });
  assertEquals(
    times([
      ...[{ at: 1, type: "spawned" } as const, terminal(10, "\x1b[c")],
      ...[terminal(20, "\x1b[?25l\x1b[?2004h>"), terminal(30, "\x1b[?2004l\x1b[?2004h")],
      ...[hook(35, "SessionStart"), hook(40, "Stop"), hook(50, "Stop")],
      { at: 60, type: "exit", exit: { kind: "exited", code: 0 } },
    ]),
    { firstByteMs: 10, readyMs: 20, stopMs: 40, exitMs: 60 },
  );
  assertEquals(times([terminal(1, "\x1b[?20"), terminal(2, "04h")]), {
    firstByteMs: 1,
    readyMs: 2,
  });
  assertEquals(times([terminal(1, "\x1b[?2004l")]), { firstByteMs: 1 });
  assertEquals(times([]), {});
});

const REPORT: RunReport = {
  unprinted: [],
  result: {
    type: "result",
    subtype: "success",
    is_error: false,
    num_turns: 1,
    session_id: "s",
    claude_version: "2.1.330",
    result: "ready",
  },
  exitCode: 0,
  showScreen: false,
};
const RUN = {
  report: REPORT,
  facts: { entrypoint: "cli", model: "claude-opus" },
  times: { firstByteMs: 101.4, readyMs: 300, stopMs: 1234, exitMs: 1400 },
  totalMs: 1450,
};

Deno.test("a good run is reported with its times", () => {
  const { ok, detail, data } = judgeRun(RUN);
  assertEquals([ok, detail], [
    true,
    'claude-opus says "ready"; entrypoint cli; first byte after 0.10 s, ready 0.30 s, ' +
    "Stop 1.23 s, total 1.45 s; own overhead 50 ms",
  ]);
  assertEquals(data, {
    exit_code: 0,
    entrypoint: "cli",
    model: "claude-opus",
    answer: "ready",
    first_byte_ms: 101,
    ready_ms: 300,
    stop_ms: 1234,
    total_ms: 1450,
    own_ms: 50,
  });
  const long = { ...REPORT, result: { ...REPORT.result, result: `a\n${"b".repeat(100)}` } };
  assertStringIncludes(
    judgeRun({ ...RUN, report: long }).detail,
    `says "a ${"b".repeat(38)}…";`,
  );
  const facts = { entrypoint: undefined, model: undefined };
  const unknown = judgeRun({ ...RUN, facts, times: {} });
  assertStringIncludes(unknown.detail, "entrypoint unknown; first byte after unknown");
  assertEquals(["own_ms", "ready_ms", "model"].map((name) => unknown.data[name]), [
    ...[null, null, null],
  ]);
});

Deno.test("a failed run is reported with its cause", () => {
  const facts = { ...RUN.facts, entrypoint: "sdk-cli" };
  const problem = { message: "Claude Code ended", suggestion: "Run claude" };
  const result = { ...REPORT.result, is_error: true, result: "API Error: 529 Overloaded" };
  const rows = [
    [{ ...RUN, facts }, "The entrypoint is sdk-cli, not cli", "CLAUDE_CODE_ENTRYPOINT"],
    [{ ...RUN, report: { ...REPORT, exitCode: 2, problem } }, "Claude Code ended", "Run claude"],
    [{ ...RUN, report: { ...REPORT, result, exitCode: 1 } }, "API Error: 529 Overloaded", ""],
  ] as const;
  for (const [run, detail, suggestion] of rows) {
    const verdict = judgeRun(run);
    assertEquals([verdict.ok, verdict.detail], [false, detail]);
    assertStringIncludes(verdict.suggestion ?? "", suggestion);
  }
});

Deno.test("a transcript names entrypoint and model", () => {
  const factsOf = (text: string) =>
    sessionFacts(text.trim().split("\n").map(parseEntry).filter((entry) => entry !== undefined));
  const folder = new URL("../../../fixtures/transcripts/", import.meta.url);
  for (const name of ["2.1.168/denied", "2.1.330/plain"]) {
    const text = Deno.readTextFileSync(new URL(`${name}/transcript.jsonl`, folder));
    const { entrypoint, model } = factsOf(text);
    assertEquals([entrypoint, model?.startsWith("claude-")], ["cli", true], name);
  }
  assertEquals(factsOf('{"type":"mode","entrypoint":"mcp"}\n{"type":"user"\nno JSON'), {
    entrypoint: undefined,
    model: undefined,
  });
});
