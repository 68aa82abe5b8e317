import { assertEquals, assertStringIncludes } from "@std/assert";
import { runVerdict, sessionFacts } from "../../src/doctor/run_verdict.ts";
import type { RunReport } from "../../src/run/perform_run.ts";
import { parseEntry } from "../../src/transcript/entry.ts";

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

const GOOD = {
  report: REPORT,
  facts: { entrypoint: "cli", model: "claude-opus" },
  times: { firstByteMs: 101.4, readyMs: 300, stopMs: 1234, exitMs: 1400 },
  totalMs: 1450,
};

Deno.test("runVerdict() tells of a run that went well", () => {
  const { ok, detail, data } = runVerdict(GOOD);
  assertEquals(ok, true);
  assertEquals(
    detail,
    'claude-opus says "ready"; entrypoint cli; first byte after 0.10 s, ready 0.30 s, ' +
      "Stop 1.23 s, total 1.45 s; own overhead 50 ms",
  );
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
});

Deno.test("runVerdict() shows only the first words of an answer", () => {
  const report = { ...REPORT, result: { ...REPORT.result, result: `a\n${"b".repeat(100)}` } };
  const { detail } = runVerdict({ ...GOOD, report });
  assertStringIncludes(detail, `says "a ${"b".repeat(38)}…";`);
});

Deno.test("runVerdict() says what it does not know", () => {
  const { ok, detail, data } = runVerdict({
    ...GOOD,
    facts: { entrypoint: undefined, model: undefined },
    times: {},
  });
  assertEquals(ok, true);
  assertStringIncludes(detail, "entrypoint unknown; first byte after unknown");
  assertEquals([data["own_ms"], data["ready_ms"], data["model"]], [null, null, null]);
});

Deno.test("runVerdict() does not take another entrypoint", () => {
  const facts = { ...GOOD.facts, entrypoint: "sdk-cli" };
  const { ok, detail, suggestion } = runVerdict({ ...GOOD, facts });
  assertEquals([ok, detail], [false, "The entrypoint is sdk-cli, not cli"]);
  assertStringIncludes(suggestion ?? "", "CLAUDE_CODE_ENTRYPOINT");
});

Deno.test("runVerdict() tells a failure as the run would", () => {
  const problem = { message: "Claude Code ended", suggestion: "Run claude" };
  const failed = runVerdict({ ...GOOD, report: { ...REPORT, exitCode: 2, problem } });
  assertEquals([failed.ok, failed.detail, failed.suggestion], [
    false,
    "Claude Code ended",
    "Run claude",
  ]);
});

Deno.test("runVerdict() tells the API's error where the answer is one", () => {
  const result = { ...REPORT.result, is_error: true, result: "API Error: 529 Overloaded" };
  const failed = runVerdict({ ...GOOD, report: { ...REPORT, result, exitCode: 1 } });
  assertEquals([failed.ok, failed.detail], [false, "API Error: 529 Overloaded"]);
});

const entriesOf = (text: string) =>
  text.trim().split("\n").map(parseEntry).filter((entry) => entry !== undefined);

const FOLDER = new URL("../../fixtures/transcripts/", import.meta.url);

for (const name of ["2.1.168/denied", "2.1.330/plain"]) {
  Deno.test(`sessionFacts() finds entrypoint and model in a transcript of ${name}`, () => {
    const path = new URL(`${name}/transcript.jsonl`, FOLDER);
    const { entrypoint, model } = sessionFacts(entriesOf(Deno.readTextFileSync(path)));
    assertEquals(entrypoint, "cli");
    assertEquals(model?.startsWith("claude-"), true);
  });
}

Deno.test("sessionFacts() of other lines are unknown", () => {
  const lines = '{"type":"mode","entrypoint":"mcp"}\n{"type":"user"\nno JSON';
  assertEquals(sessionFacts(entriesOf(lines)), { entrypoint: undefined, model: undefined });
});
