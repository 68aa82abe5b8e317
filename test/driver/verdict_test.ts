import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Ending } from "../../src/session/effect.ts";
import { type Verdict, verdictOf } from "../../src/driver/verdict.ts";

const screen = { lines: [], cursor: { row: 1, col: 1 } };

function verdict(ending: Ending, more: { prompt?: string; isClaude?: boolean } = {}): Verdict {
  return verdictOf(ending, {
    prompt: "hello",
    timeoutMs: 3000,
    startTimeoutMs: 1500,
    binary: "/bin/x",
    isClaude: true,
    turn: undefined,
    altered: "zero-width space (U+200B) at character 3",
    ...more,
  });
}

const message = ({ outcome }: Verdict) => "message" in outcome ? outcome.message : "";

const FAILURES: readonly Ending[] = [
  { kind: "timeout" },
  { kind: "idle", prompted: true },
  { kind: "exited", exit: { kind: "exited", code: 1 } },
  { kind: "exited", exit: { kind: "signaled", signal: 9 } },
  { kind: "dialog", screen },
  { kind: "dialog", name: "login", screen },
  { kind: "not-started", silent: true },
  { kind: "not-started", silent: false },
  { kind: "undelivered" },
  { kind: "undelivered", taken: "x" },
];

Deno.test("verdictOf() words every failure in one line without a full stop, and says what to do", () => {
  for (const ending of FAILURES) {
    const found = verdict(ending);
    assertMatch(message(found), /^[A-Z][^\n]*[^.\n]$/u);
    assertMatch(found.suggestion ?? "", /^[A-Z][^\n]*[^.\n]$/u);
  }
});

Deno.test("verdictOf() tells the kinds of failure apart", () => {
  assertEquals(verdict({ kind: "timeout" }).outcome.kind, "timeout");
  assertStringIncludes(message(verdict({ kind: "timeout" })), "3 s");
  assertEquals(verdict({ kind: "interrupted", signal: "SIGINT" }).outcome.kind, "interrupted");
  assertEquals(verdict({ kind: "idle", prompted: true }).outcome.kind, "assistant_error");
  const killed = verdict({ kind: "exited", exit: { kind: "signaled", signal: 9 } });
  assertStringIncludes(message(killed), "SIGKILL");
  assertStringIncludes(
    verdict({ kind: "dialog", name: "login", screen }).suggestion ?? "",
    "/login",
  );
  assertStringIncludes(message(verdict({ kind: "undelivered", taken: "x" })), "U+200B");
});

Deno.test("verdictOf() names an executable that is not Claude Code", () => {
  for (
    const ending of [
      { kind: "exited", exit: { kind: "exited", code: 0 } },
      { kind: "not-started", silent: true },
    ] as const
  ) {
    assertStringIncludes(message(verdict(ending, { isClaude: false })), "is not Claude Code");
  }
});

Deno.test("verdictOf() names a command that Claude Code carried out by itself", () => {
  for (
    const ending of [{ kind: "idle", prompted: false }, { kind: "dialog", screen }] as const
  ) {
    assertStringIncludes(message(verdict(ending, { prompt: " /cost now" })), '"/cost"');
  }
});

Deno.test("verdictOf() passes on what StopFailure says", () => {
  const failure = { error: "rate_limit", last_assistant_message: "Slow down" };
  assertEquals(verdict({ kind: "failed", failure }).outcome, {
    kind: "failed",
    error: "rate_limit",
    text: "Slow down",
  });
  assertEquals(verdict({ kind: "failed", failure: {} }).outcome, {
    kind: "failed",
    error: "unknown",
    text: "",
  });
});
