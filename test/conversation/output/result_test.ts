import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  judgeEnding,
  unfinishedProblem,
  type Verdict,
} from "../../../src/conversation/output/result/verdict.ts";
import {
  buildResult,
  type ResultFacts,
} from "../../../src/conversation/output/result/build_result.ts";
import type { Ending } from "../../../src/conversation/control/effect.ts";
import {
  DEFERRED_RESULT,
  STOPPED_BY_HOOK,
  TURN_LIMIT_REASON,
} from "../../../src/claude/transcript/special_entries.ts";
import { OUTPUT_TOOL } from "../../../src/claude/transcript/structured_output_tool.ts";
import type { Cost } from "../../../src/claude/transcript/cost.ts";
import { splitTurns, type Turn } from "../../../src/claude/transcript/turn.ts";
import { createOutputWriter } from "../../../src/claude/wire/output_writer.ts";
import { readRecording } from "../../claude/transcript/recording.ts";
import { answer, at, attached, call, entryOf, type Line, prompt, result, text } from "./lines.ts";
import { VERSION } from "./runs.ts";

const FACTS = {
  ...{ version: VERSION, sessionId: "the-session", uuid: "an-id" },
  outcome: { kind: "answered" },
} as const;
const COST: Cost = {
  totalUsd: 0.5,
  apiDurationMs: 12,
  modelUsage: { "claude-opus-5-5": { inputTokens: 1, costUSD: 0.5 }, "other": { inputTokens: 2 } },
  hasUnknownPrice: true,
};

/** The turn of some lines. */
const turnOf = (...lines: readonly Line[]): Turn | undefined => splitTurns(lines.map(entryOf))[0];

/** Some fields of a result. */
function told(facts: Partial<ResultFacts>, ...fields: readonly string[]) {
  const frame: Line = { ...buildResult({ ...FACTS, ...facts }) };
  return fields.map((field) => frame[field]);
}

Deno.test("a result has the context window that the child names", () => {
  const limits = { context_window: { context_window_size: 300_000 } };
  const rows = [
    ["claude-opus-5-5", { limits }, [300_000, undefined]],
    ["other", { limits }, [1_000_000, 300_000]],
    ["claude-opus-5-5", {}, [1_000_000, undefined]],
  ] as const;
  for (const [model, more, windows] of rows) {
    const turn = turnOf({ type: "assistant", message: { id: "a", model, content: [] } });
    const { modelUsage = {} } = buildResult({ ...FACTS, cost: COST, turn, ...more });
    assertEquals<unknown>(
      Object.values(modelUsage).map((usage) => (usage as Line)["contextWindow"]),
      windows,
    );
  }
});

Deno.test("a command's result has no API fields", () => {
  const outcome = { kind: "local", text: "", command: "compact" } as const;
  const fields = ["result", "num_turns", "stop_reason", "terminal_reason", "api_error_status"];
  assertEquals(
    told({ outcome, cost: COST }, ...fields, "local_command", "duration_api_ms", "total_cost_usd"),
    ["", 0, null, undefined, undefined, "compact", 0, 0.5],
  );
});

Deno.test("a failure keeps the text so far", () => {
  const [turn] = splitTurns(readRecording("2.1.330/blocks").entries);
  const fields = ["subtype", "is_error", "errors", "result", "terminal_reason", "num_turns"];
  for (const kind of ["timeout", "internal_error", "assistant_error"] as const) {
    const outcome = { kind, message: "It failed" };
    const failed = [kind, true, ["It failed"]];
    assertEquals(told({ outcome, turn }, ...fields), [
      ...failed,
      ...["Third block, the last.\n", undefined, 1],
    ]);
    assertEquals(told({ outcome }, ...fields), [...failed, undefined, undefined, 0]);
  }
});

Deno.test("a deferred call ends its turn and is printed", () => {
  const failed = (content: string) => result("t", undefined, { is_error: true, content });
  const hook = "PreToolUse:Bash hook error:";
  const deferred = { id: "t", name: "Bash", input: { command: "x" } };
  const fields = ["num_turns", "stop_reason", "terminal_reason", "deferred_tool_use"];
  const rows = [
    [`${hook} ${DEFERRED_RESULT}`, [1, "tool_deferred", "tool_deferred", deferred]],
    [`${hook} No`, [2, "end_turn", "hook_stopped", undefined]],
    [`${hook} ${DEFERRED_RESULT}?`, [2, "end_turn", "hook_stopped", undefined]],
  ] as const;
  for (const [content, expected] of rows) {
    const turn = turnOf(prompt(), call("t"), failed(content), attached(STOPPED_BY_HOOK));
    assertEquals<unknown>(told({ turn }, ...fields), expected);
  }
  // A tool may say so, too.
  const turn = turnOf(prompt(), call("t"), failed(DEFERRED_RESULT));
  assertEquals(told({ turn }, "deferred_tool_use"), [undefined]);
});

Deno.test("an interrupt during a tool has its own reason", () => {
  const outcome = { kind: "interrupted", signal: "SIGINT", message: "Interrupted" } as const;
  const reason = (line: Line) =>
    told({ outcome, turn: turnOf(prompt(), line) }, "terminal_reason")[0];
  assertEquals([reason(text("So")), reason(call("t"))], ["aborted_streaming", "aborted_tools"]);
});

Deno.test("the Stop hook's text stands in for a missing answer", () => {
  const lastAssistantMessage = "From the hook";
  const [thought] = splitTurns(readRecording("2.1.330/endthink").entries);
  assertEquals(told({ lastAssistantMessage }, "result"), ["From the hook"]);
  assertEquals(told({ lastAssistantMessage, turn: thought }, "result"), [""]);
  // A killed child has not written down what it said after its tool.
  const called = answer([{ type: "text", text: "Let me see" }, {
    ...{ type: "tool_use", id: "t", name: "Bash" },
  }]);
  for (const lines of [[prompt(), called], [prompt(), called, result("t")]]) {
    const turn = turnOf(...lines);
    assertEquals(told({ lastAssistantMessage, turn }, "result"), ["From the hook"]);
    assertEquals(told({ turn }, "result"), [""]);
  }
});

Deno.test("a StopFailure without a line is an API error", () => {
  const outcome = { kind: "failed", error: "rate_limit", text: "Slow down" } as const;
  const fields = ["subtype", "is_error", "result", "api_error_status", "terminal_reason"];
  assertEquals(told({ outcome }, ...fields), ["success", true, "Slow down", null, "api_error"]);
});

Deno.test("an answer to another prompt is not printed", () => {
  const outcome = { kind: "internal_error", message: "Changed" } as const;
  const turn = turnOf(text("Hi"));
  assertEquals(told({ outcome, turn }, "result"), ["Hi"]);
  assertEquals(told({ outcome, turn, isForeign: true }, "result"), [undefined]);
});

Deno.test("a result prices each known model", () => {
  const fields = ["total_cost_usd", "duration_api_ms", "modelUsage"];
  assertEquals(told({}, ...fields), [undefined, 0, {}]);
  assertEquals(told({ cost: COST }, "modelUsage"), [{
    "claude-opus-5-5": {
      inputTokens: 1,
      costUSD: 0.5,
      contextWindow: 1_000_000,
      maxOutputTokens: 128_000,
      canonicalModel: "claude-opus-5-5",
      provider: "firstParty",
    },
    other: { inputTokens: 2, canonicalModel: "other", provider: "firstParty" },
  }]);
  const facts = {
    cost: { ...COST, modelUsage: { "claude-opus-4-8[1m]": {} } },
    maxOutputTokens: new Map([["claude-opus-4-8", 7]]),
    provider: "bedrock",
    durationMs: 99,
  };
  assertEquals(told(facts, "duration_ms", "modelUsage"), [99, {
    "claude-opus-4-8[1m]": {
      contextWindow: 1_000_000,
      maxOutputTokens: 7,
      canonicalModel: "claude-opus-4-8",
      provider: "bedrock",
      costBasis: "unknown",
    },
  }]);
});

Deno.test("unknown fields of usage are added up", () => {
  const message = { id: "a", model: "m", content: [], usage: { input_tokens: 1, new_tokens: 2 } };
  const turn = turnOf({ type: "assistant", message }, {
    type: "assistant",
    message: { ...message, id: "b" },
  });
  const [usage] = told({ turn }, "usage");
  assertEquals((usage as Line)["new_tokens"], 4);
});

Deno.test("a result has the origin of its messages", () => {
  const rows = [
    [[{ human: true }], { kind: "human" }],
    [[{}, { human: true }], undefined],
    [[{ human: true, synthetic: true }], { kind: "unclassified" }],
  ] as const;
  for (const [messages, origin] of rows) assertEquals(told({ messages }, "origin"), [origin]);
});

Deno.test("a result names the first message with an id", () => {
  const answers = [[3, 5, 7], [3, 12, 1]].map(([input, cached, written], at) => {
    const line = text(`${at}`);
    const usage = {
      input_tokens: input,
      cache_read_input_tokens: cached,
      cache_creation_input_tokens: written,
    };
    return { ...line, message: { ...line.message, usage } };
  });
  const turn = turnOf(prompt(), ...answers);
  const [first, other] = [{ uuid: "one" }, { uuid: "other" }];
  const synthetic = { ...first, synthetic: true } as const;
  const stopped = { kind: "error_during_execution", message: "stopped" } as const;
  const [all, none] = [[9, 15, 5], [undefined, undefined, undefined]];
  const rows: readonly (readonly [Partial<ResultFacts>, string | undefined, readonly unknown[]])[] =
    [
      [{ messages: [first] }, "one", all],
      [{ messages: [first, other] }, "other", all],
      [{ messages: [first, {}] }, "one", all],
      // A message that has joined the turn is named if no earlier one has an id.
      [{ messages: [first, other], joined: [other] }, "one", all],
      [{ messages: [{}, other], joined: [other] }, "other", none],
      [{ messages: [synthetic] }, "one", all],
      [{ messages: [synthetic, other], joined: [other] }, "other", none],
      [{ messages: [] }, undefined, none],
      [{ messages: [first], turn: undefined }, "one", [9, undefined, undefined]],
      [{ messages: [first], outcome: stopped }, "one", none],
    ];
  const fields = ["user_message_uuid", "request_sent_wall_ms", "first_request_input_tokens"];
  for (const [facts, uuid, counts] of rows) {
    const read = told(
      { turn, sentAt: 9, ...facts },
      ...fields,
      "first_request_cache_read_input_tokens",
    );
    assertEquals<unknown>(read, [uuid, ...counts]);
  }
});

Deno.test("a hook that halts the turn is its terminal_reason", () => {
  const halted = (hookEvent: string, message: string) =>
    attached(STOPPED_BY_HOOK, { hookEvent, message });
  const rows = [
    [halted("Stop", "enough"), "stop_hook_prevented"],
    [halted("PostToolUse", "enough"), "hook_stopped"],
    [halted("Stop", TURN_LIMIT_REASON), "completed"],
  ] as const;
  for (const [line, reason] of rows) {
    const turn = turnOf(prompt(), answer([]), line);
    assertEquals(told({ turn }, "terminal_reason"), [reason]);
  }
  const lines = [prompt(), text("x"), halted("Stop", "enough")];
  const feedback = prompt("Stop hook feedback:\ngo on", { isMeta: true });
  assertEquals(told({ turn: turnOf(...lines) }, "result"), ["x"]);
  assertEquals(told({ turn: turnOf(...lines, feedback) }, "result"), [""]);
});

Deno.test("a structured answer is the result", () => {
  const turn = turnOf(prompt(), call("t", OUTPUT_TOOL, { n: 1 }), result("t"), text("x"));
  assertEquals(told({ turn }, "result", "structured_output"), ['{"n":1}', { n: 1 }]);
});

/** A line of an answer that has used and written so many tokens. */
function paid(id: string, tokens: number, more: Line = {}): Line {
  const cache_creation = { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: tokens };
  const usage = { input_tokens: tokens, cache_creation_input_tokens: tokens, cache_creation };
  const message = { id, model: "m", content: [], usage, stop_reason: "tool_use", ...more };
  return { type: "assistant", ...at(0), message };
}

Deno.test("an answer without a line is counted by its cost", () => {
  const remark = prompt("[Your previous response had no visible output. Please continue.]", {
    isMeta: true,
    ...at(1000),
  });
  const m = { inputTokens: 5, cacheCreationInputTokens: 7 };
  const agent = { content: [{ type: "tool_use", id: "t", name: "Agent" }] };
  const rows = [
    [[paid("a", 2), remark], { m }, "end_turn", 5, 7],
    [[paid("a", 2)], { m }, "tool_use", 2, 2],
    // It is not known whose cost it is.
    [[paid("a", 2), remark], { m, other: m }, "end_turn", 2, 2],
    [[paid("a", 2, agent), remark], { m }, "end_turn", 2, 2],
  ] as const;
  for (const [lines, modelUsage, reason, tokens, written] of rows) {
    const turn = turnOf(prompt(), ...lines);
    const facts = { turn, cost: { ...COST, modelUsage } };
    const [stop, usage] = told(facts, "stop_reason", "usage");
    const { input_tokens, cache_creation } = usage as Line;
    assertEquals([stop, input_tokens], [reason, tokens]);
    assertEquals(cache_creation, {
      ephemeral_1h_input_tokens: 0,
      ephemeral_5m_input_tokens: written,
    });
  }
  const outcome = { kind: "error_max_turns", turns: 1, message: "m" } as const;
  assertEquals(told({ outcome, turn: turnOf(prompt(), remark) }, "stop_reason"), ["end_turn"]);
});

Deno.test("an answer that the API broke off is not counted", () => {
  const failed = { ...text("API Error"), isApiErrorMessage: true };
  for (const [stop_reason, tokens] of [[null, 0], ["max_tokens", 2], ["refusal", 2]] as const) {
    const [usage] = told(
      { turn: turnOf(prompt(), paid("a", 2, { stop_reason }), failed) },
      "usage",
    );
    assertEquals((usage as Line)["input_tokens"], tokens);
  }
});

Deno.test("the limit of turns is a result without an answer", () => {
  const message = "Reached maximum number of turns (2)";
  const frame = buildResult({
    ...FACTS,
    outcome: { kind: "error_max_turns", turns: 2, message },
    turn: turnOf(text("I look")),
  });
  assertEquals(
    [frame.subtype, frame.is_error, frame.num_turns, frame.terminal_reason, frame.errors],
    ["error_max_turns", true, 3, "max_turns", [message]],
  );
  assert(!("result" in frame));
  let printed = "";
  const writer = createOutputWriter("text", { verbose: false, write: (more) => printed += more });
  writer.frame(frame);
  assertEquals(printed, "Error: Reached max turns (2)");
});

const screen = { lines: [], cursor: { row: 1, col: 1 } };

function verdict(ending: Ending, more: Partial<Parameters<typeof judgeEnding>[1]> = {}): Verdict {
  const limits = {
    ...{ timeoutMs: 3000, startTimeoutMs: 2000, deliveryTimeoutMs: 4000 },
    ...{ idleTimeoutMs: 5000, drainTimeoutMs: 6000, exitTimeoutMs: 7000 },
  };
  return judgeEnding(ending, {
    ...{ limits, binary: "/bin/x", isClaude: true, turn: undefined, now: 0 },
    altered: "zero-width space (U+200B) at character 3",
    ...more,
  });
}

const exited = (code: number): Ending => ({ kind: "exited", exit: { kind: "exited", code } });
const killed = (signal: number, name: string): Ending => ({
  kind: "exited",
  exit: { kind: "signaled", signal, name },
});

Deno.test("each failure has a kind, a message and a suggestion", () => {
  const rows: readonly (readonly [Ending, kind: string, message: RegExp, suggestion: RegExp])[] = [
    [{ kind: "timeout" }, "timeout", /3 s/u, /./u],
    [{ kind: "idle", prompted: true }, "assistant_error", /./u, /./u],
    [exited(1), "internal_error", /exit code 1/u, /./u],
    [killed(9, "SIGKILL"), "internal_error", /SIGKILL/u, /./u],
    [killed(25, "SIGXFSZ"), "internal_error", /SIGXFSZ/u, /^Raise the limit of the size/u],
    [{ kind: "dialog", screen }, "internal_error", /./u, /./u],
    [{ kind: "dialog", name: "login", screen }, "internal_error", /./u, /\/login/u],
    [{ kind: "not-started", silent: true }, "start_timeout", /2 s/u, /./u],
    [{ kind: "not-started", silent: false }, "start_timeout", /2 s/u, /./u],
    [{ kind: "not-taken" }, "delivery_timeout", /4 s/u, /./u],
    [{ kind: "silent" }, "idle_timeout", /5 s/u, /./u],
    [{ kind: "unheard" }, "internal_error", /./u, /./u],
    [{ kind: "undelivered" }, "internal_error", /./u, /--inject paste/u],
    [{ kind: "undelivered", taken: "x" }, "internal_error", /U\+200B/u, /./u],
  ];
  for (const [ending, kind, words, remedy] of rows) {
    const { outcome, suggestion = "" } = verdict(ending);
    const message = "message" in outcome ? outcome.message : "";
    assertEquals(outcome.kind, kind, JSON.stringify(ending));
    assertMatch(message, words);
    assertMatch(suggestion, remedy);
    for (const sentence of [message, suggestion]) assertMatch(sentence, /^[A-Z][^\n]*[^.\n]$/u);
  }
});

Deno.test("a verdict names the limit behind a signal", () => {
  const { outcome, suggestion } = verdict({ kind: "interrupted", signal: "SIGXCPU" });
  assertEquals(outcome.kind, "interrupted");
  assertStringIncludes(suggestion ?? "", "ulimit -t");
  const foreign = verdict(killed(25, "SIGXFSZ"), { isClaude: false });
  assertStringIncludes(foreign.suggestion ?? "", "Raise the limit of the size");
});

Deno.test("a message that cannot be sent is its sender's mistake", () => {
  const refused = { kind: "refused", message: "Cannot send it", suggestion: "Send text" } as const;
  const rows = [
    [refused, "internal_error"],
    [{ ...refused, malformed: true } as const, "bad_input"],
  ] as const;
  for (const [settled, kind] of rows) {
    assertEquals(verdict({ kind: "settled", message: { text: "", settled } }).outcome.kind, kind);
  }
});

Deno.test("a verdict suggests what fits the kind of run", () => {
  const { suggestion } = verdict({ kind: "undelivered" }, { conversation: true });
  assertStringIncludes(suggestion ?? "", "send the message again");
  for (const ending of [exited(0), { kind: "not-started", silent: true } as const]) {
    const { outcome } = verdict(ending, { isClaude: false });
    assertStringIncludes("message" in outcome ? outcome.message : "", "is not Claude Code");
  }
  for (const ending of [{ kind: "idle", prompted: false }, { kind: "dialog", screen }] as const) {
    const { outcome, showScreen } = verdict(ending, { command: "/mine" });
    assertStringIncludes("message" in outcome ? outcome.message : "", 'no prompt of "/mine"');
    assertEquals(showScreen, true);
  }
});

Deno.test("an API error on a line is the turn's failure", () => {
  const failed = (words: string, error: string) =>
    turnOf({ ...text(words), isApiErrorMessage: true, error });
  const long = failed("Prompt is too long", "invalid_request");
  const idle = verdict({ kind: "idle", prompted: true }, { turn: long, command: "/mine" });
  assertEquals(idle.outcome, {
    kind: "failed",
    error: "invalid_request",
    text: "Prompt is too long",
  });
  assertEquals([idle.failure?.kind, idle.showScreen], ["context-overflow", false]);
  const words = "Not logged in · Please run /login";
  const turn = failed(words, "authentication_failed");
  assertEquals(turn?.error?.kind, "authentication_failed");
  const answered = verdict({ kind: "answered", stop: {} }, { turn });
  assertEquals(answered.outcome, { kind: "failed", error: "authentication_failed", text: words });
  assertStringIncludes(answered.suggestion ?? "", "claude /login");
});

Deno.test("a verdict passes on a StopFailure", () => {
  const rows = [
    [{ error: "rate_limit", last_assistant_message: "Slow down" }, "rate_limit", "Slow down"],
    [{}, "unknown", ""],
  ] as const;
  for (const [failure, error, text] of rows) {
    assertEquals(verdict({ kind: "failed", failure }).outcome, { kind: "failed", error, text });
  }
});

Deno.test("the limit of turns is named as by claude -p", () => {
  const { outcome, message } = verdict({ kind: "max-turns" }, { maxTurns: 2 });
  assertEquals(outcome, {
    kind: "error_max_turns",
    turns: 2,
    message: "Reached maximum number of turns (2)",
  });
  assertStringIncludes(message ?? "", "2 requests to the model");
  // A Stop hook that wants the turn to go on meets the limit, unless another hook ends the turn.
  const halted = (message: string) => attached(STOPPED_BY_HOOK, { hookEvent: "Stop", message });
  const feedback = prompt("Stop hook feedback:\nno", { isMeta: true });
  const rows = [
    [[feedback], "error_max_turns"],
    [[], "answered"],
    [[feedback, halted("enough")], "answered"],
  ] as const;
  for (const [lines, kind] of rows) {
    const turn = turnOf(prompt(), answer([]), halted(TURN_LIMIT_REASON), ...lines);
    const { outcome } = verdict({ kind: "answered", stop: {} }, { turn, maxTurns: 1 });
    assertEquals(outcome.kind, kind);
  }
});

Deno.test("unfinishedProblem() names the tasks and the variable", () => {
  const { message, suggestion } = unfinishedProblem([
    { type: "shell", description: "Build" },
    { type: "subagent", description: "Look" },
    { type: "new" },
  ]);
  assertEquals(
    message,
    'Stopped waiting for what runs in the background: shell "Build", subagent "Look", a task',
  );
  assertStringIncludes(suggestion ?? "", "CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS");
});
