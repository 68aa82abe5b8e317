import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Ending } from "../../../src/session/effect.ts";
import { type Verdict, verdictOf } from "../../../src/frames/result/verdict.ts";
import { parseEntry } from "../../../src/transcript/entry.ts";
import { AT_LIMIT, HALTED } from "../../../src/transcript/halted.ts";
import { turnsOf } from "../../../src/transcript/turn/turn.ts";

const screen = { lines: [], cursor: { row: 1, col: 1 } };

type VerdictFacts = Partial<Parameters<typeof verdictOf>[1]>;

function verdict(ending: Ending, more: VerdictFacts = {}): Verdict {
  return verdictOf(ending, {
    limits: {
      timeoutMs: 3000,
      startTimeoutMs: 2000,
      deliveryTimeoutMs: 4000,
      idleTimeoutMs: 5000,
      drainTimeoutMs: 6000,
      exitTimeoutMs: 7000,
    },
    binary: "/bin/x",
    isClaude: true,
    turn: undefined,
    now: 0,
    altered: "zero-width space (U+200B) at character 3",
    ...more,
  });
}

const message = ({ outcome }: Verdict) => "message" in outcome ? outcome.message : "";

Deno.test("verdictOf() blames a message that nobody could send on its sender", () => {
  const refused = { kind: "refused", message: "Cannot send it", suggestion: "Send text" } as const;
  const kindOf = (settled: typeof refused & { readonly malformed?: true }) =>
    verdict({ kind: "settled", message: { text: "", settled } }).outcome.kind;
  assertEquals(kindOf(refused), "internal_error");
  assertEquals(kindOf({ ...refused, malformed: true }), "bad_input");
});

const FAILURES: readonly Ending[] = [
  { kind: "timeout" },
  { kind: "idle", prompted: true },
  { kind: "exited", exit: { kind: "exited", code: 1 } },
  { kind: "exited", exit: { kind: "signaled", signal: 9, name: "SIGKILL" } },
  { kind: "dialog", screen },
  { kind: "dialog", name: "login", screen },
  { kind: "not-started", silent: true },
  { kind: "not-started", silent: false },
  { kind: "not-taken" },
  { kind: "silent" },
  { kind: "unheard" },
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
  const limits: readonly (readonly [Ending, string, string])[] = [
    [{ kind: "timeout" }, "timeout", "3 s"],
    [{ kind: "not-started", silent: true }, "start_timeout", "2 s"],
    [{ kind: "not-taken" }, "delivery_timeout", "4 s"],
    [{ kind: "silent" }, "idle_timeout", "5 s"],
  ];
  for (const [ending, kind, limit] of limits) {
    assertEquals(verdict(ending).outcome.kind, kind);
    assertStringIncludes(message(verdict(ending)), limit);
  }
  assertEquals(verdict({ kind: "interrupted", signal: "SIGINT" }).outcome.kind, "interrupted");
  assertEquals(verdict({ kind: "idle", prompted: true }).outcome.kind, "assistant_error");
  const killed = verdict({
    kind: "exited",
    exit: { kind: "signaled", signal: 9, name: "SIGKILL" },
  });
  assertStringIncludes(message(killed), "SIGKILL");
  const tooLarge = {
    kind: "exited",
    exit: { kind: "signaled", signal: 25, name: "SIGXFSZ" },
  } as const;
  for (const isClaude of [true, false]) {
    const { suggestion, ...ended } = verdict(tooLarge, { isClaude });
    assertStringIncludes(
      `${message(ended)}: ${suggestion}`,
      "SIGXFSZ: Raise the limit of the size",
    );
  }
  assertStringIncludes(
    verdict({ kind: "interrupted", signal: "SIGXCPU" }).suggestion ?? "",
    "ulimit -t",
  );
  assertStringIncludes(
    verdict({ kind: "dialog", name: "login", screen }).suggestion ?? "",
    "/login",
  );
  assertStringIncludes(message(verdict({ kind: "undelivered", taken: "x" })), "U+200B");
});

Deno.test("verdictOf() advises to leave out only what somebody has asked for", () => {
  const advice = (conversation: boolean) =>
    verdict({ kind: "undelivered" }, { conversation }).suggestion ?? "";
  assertStringIncludes(advice(false), "--inject paste");
  assertStringIncludes(advice(true), "send the message again");
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

Deno.test("verdictOf() names a command that became no prompt", () => {
  for (
    const ending of [{ kind: "idle", prompted: false }, { kind: "dialog", screen }] as const
  ) {
    const found = verdict(ending, { command: "/mine" });
    assertStringIncludes(message(found), 'no prompt of "/mine"');
    assertEquals(found.showScreen, true);
  }
});

Deno.test("a failure that no hook reports is one of the API", () => {
  const line = {
    type: "assistant",
    isApiErrorMessage: true,
    error: "invalid_request",
    message: {
      id: "m",
      model: "<synthetic>",
      content: [{ type: "text", text: "Prompt is too long" }],
    },
  };
  const entry = parseEntry(JSON.stringify(line));
  const found = verdict({ kind: "idle", prompted: true }, {
    turn: turnsOf(entry === undefined ? [] : [entry])[0],
    command: "/mine",
  });
  assertEquals(found.outcome, {
    kind: "failed",
    error: "invalid_request",
    text: "Prompt is too long",
  });
  assertEquals([found.failure?.kind, found.showScreen], ["context-overflow", false]);
});

Deno.test("verdictOf() names the limit of turns as claude -p does, and words it for stderr", () => {
  const found = verdict({ kind: "max-turns" }, { maxTurns: 2 });
  assertEquals(found.outcome, {
    kind: "error_max_turns",
    turns: 2,
    message: "Reached maximum number of turns (2)",
  });
  assertStringIncludes(found.message ?? "", "2 requests to the model");
});

Deno.test("verdictOf() takes an API error for the answer that it stands for", () => {
  const error = { status: null, type: undefined, apiError: undefined, resetsAt: undefined };
  const [turn] = turnsOf([{
    type: "assistant",
    message: {
      id: "m1",
      model: "<synthetic>",
      content: [{ type: "text", text: "Not logged in · Please run /login" }],
    },
    error: "authentication_failed",
    isApiErrorMessage: true,
  }]);
  assertEquals(turn?.error, { kind: "authentication_failed", ...error });
  const found = verdict({ kind: "answered", stop: {} }, { turn });
  assertEquals(found.outcome, {
    kind: "failed",
    error: "authentication_failed",
    text: "Not logged in · Please run /login",
  });
  assertStringIncludes(found.suggestion ?? "", "claude /login");
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

Deno.test("verdictOf() tells of the limit where a hook of the end of the turn is not heeded any more", () => {
  const lines = [
    { type: "user", uuid: "p", message: { content: "Hi" } },
    { type: "assistant", message: { id: "a", model: "m", content: [] } },
    { type: "attachment", attachment: { type: HALTED, hookEvent: "Stop", message: AT_LIMIT } },
  ];
  const feedback = { type: "user", isMeta: true, message: { content: "Stop hook feedback:\nno" } };
  const kind = (...more: readonly object[]) => {
    const entries = [...lines, ...more].map((line) => parseEntry(JSON.stringify(line)))
      .filter((entry) => entry !== undefined);
    const [turn] = turnsOf(entries);
    return verdict({ kind: "answered", stop: {} }, { turn, maxTurns: 1 }).outcome.kind;
  };
  assertEquals(kind(feedback), "error_max_turns");
  assertEquals(kind(), "answered", "no other hook wants it to go on");
  const enough = { type: HALTED, hookEvent: "Stop", message: "enough" };
  const halted = { type: "attachment", attachment: enough };
  assertEquals(kind(feedback, halted), "answered", "another hook ends it");
});
