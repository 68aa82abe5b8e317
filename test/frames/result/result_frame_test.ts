import { assert, assertEquals } from "@std/assert";
import type { Cost } from "../../../src/transcript/turn/cost.ts";
import { type Entry, parseEntry } from "../../../src/transcript/entry.ts";
import { DEFERRED } from "../../../src/transcript/turn/deferred.ts";
import { AT_LIMIT, HALTED } from "../../../src/transcript/halted.ts";
import { OUTPUT_TOOL } from "../../../src/transcript/structured_output.ts";
import { turnsOf } from "../../../src/transcript/turn/turn.ts";
import { type ResultFacts, resultFrame } from "../../../src/frames/result/result_frame.ts";
import { readRecording } from "../../transcript/recording.ts";

const FACTS = {
  version: "2.1.332",
  sessionId: "the-session",
  uuid: "an-id",
  outcome: { kind: "answered" },
} as const;

const COST: Cost = {
  totalUsd: 0.5,
  apiDurationMs: 12,
  modelUsage: { "claude-opus-5-5": { inputTokens: 1, costUSD: 0.5 }, "other": { inputTokens: 2 } },
  hasUnknownPrice: true,
};

function linesOf(...lines: readonly object[]): readonly Entry[] {
  return lines.map((line) => parseEntry(JSON.stringify(line))).filter((entry) =>
    entry !== undefined
  );
}

Deno.test("the window of the model that answers is what the child says it is", () => {
  const limits = { context_window: { context_window_size: 300_000 } };
  const windows = (model: string, more: object = {}) => {
    const [turn] = turnsOf(
      linesOf({ type: "assistant", message: { id: "a", model, content: [] } }),
    );
    return Object.values(resultFrame({ ...FACTS, cost: COST, turn, ...more }).modelUsage ?? {})
      .map((usage) => (usage as { readonly contextWindow?: number }).contextWindow);
  };
  assertEquals(windows("claude-opus-5-5", { limits }), [300_000, undefined]);
  assertEquals(windows("other", { limits }), [1_000_000, 300_000]);
  assertEquals(windows("claude-opus-5-5"), [1_000_000, undefined]);
});

Deno.test("resultFrame: tells of a command that was carried out what claude -p does", () => {
  const outcome = { kind: "local", text: "", command: "compact" } as const;
  const result = resultFrame({ ...FACTS, outcome, cost: COST });
  assertEquals([result.result, result.num_turns, result.stop_reason], ["", 0, null]);
  assert(!("terminal_reason" in result) && !("api_error_status" in result));
  assertEquals(
    [result["local_command"], result.duration_api_ms, result.total_cost_usd],
    ["compact", 0, 0.5],
  );
});

Deno.test("resultFrame: names a failure of this program and keeps what text there is", () => {
  const [turn] = turnsOf(readRecording("2.1.330/blocks").entries);
  for (const kind of ["timeout", "internal_error", "assistant_error"] as const) {
    const outcome = { kind, message: "It failed" };
    const whole = resultFrame({ ...FACTS, outcome, turn });
    assertEquals([whole.subtype, whole.is_error, whole.errors], [kind, true, ["It failed"]]);
    assertEquals(whole.result, "Third block, the last.\n");
    assert(!("terminal_reason" in whole) && !("api_error_status" in whole));

    const empty = resultFrame({ ...FACTS, outcome });
    assertEquals([empty.subtype, empty.num_turns, "result" in empty], [kind, 0, false]);
    assertEquals(empty.session_id, "the-session");
  }
});

Deno.test("resultFrame: a call that was put off ends its turn, and is told to whoever decides on it", () => {
  const call = { type: "tool_use", id: "t", name: "Bash", input: { command: "ls" } };
  const given = { type: "tool_result", tool_use_id: "t", is_error: true };
  const told = (content: string, halts = true) => {
    const [turn] = turnsOf(linesOf(
      { type: "user", uuid: "p", message: { content: "Hi" } },
      { type: "assistant", message: { id: "a", model: "m", content: [call] } },
      { type: "user", message: { content: [{ ...given, content }] } },
      ...(halts ? [{ type: "attachment", attachment: { type: HALTED } }] : []),
    ));
    const result = resultFrame({ ...FACTS, turn });
    const { num_turns, stop_reason, terminal_reason, deferred_tool_use } = result;
    return [num_turns, stop_reason, terminal_reason, deferred_tool_use];
  };
  const { type: _, ...deferred } = call;
  assertEquals(told(`PreToolUse:Bash hook error: ${DEFERRED}`), [
    ...[1, "tool_deferred", "tool_deferred"],
    deferred,
  ]);
  assertEquals(told("PreToolUse:Bash hook error: No"), [2, "end_turn", "hook_stopped", undefined]);
  assertEquals(told(`${DEFERRED}?`)[3], undefined);
  assertEquals(told(DEFERRED, false)[3], undefined, "a tool that says so");
});

Deno.test("resultFrame: tells an interrupt during a tool from one during an answer", () => {
  const prompt = { type: "user", uuid: "p", message: { content: "Hi" } };
  const answer = (content: readonly object[]) =>
    turnsOf(linesOf(prompt, { type: "assistant", message: { id: "a", model: "m", content } }))[0];
  const outcome = { kind: "interrupted", signal: "SIGINT", message: "Interrupted" } as const;
  const reason = (content: readonly object[]) =>
    resultFrame({ ...FACTS, outcome, turn: answer(content) }).terminal_reason;
  assertEquals(reason([{ type: "text", text: "So" }]), "aborted_streaming");
  assertEquals(reason([{ type: "tool_use", id: "t", name: "Bash" }]), "aborted_tools");
});

Deno.test("resultFrame: falls back on the Stop hook's text only without an answer", () => {
  const [turn] = turnsOf(readRecording("2.1.330/endthink").entries);
  const lastAssistantMessage = "From the hook";
  assertEquals(resultFrame({ ...FACTS, lastAssistantMessage }).result, "From the hook");
  assertEquals(resultFrame({ ...FACTS, lastAssistantMessage, turn }).result, "");
  // A child that was killed had not written down what it said after its tool.
  const prompt = { type: "user", uuid: "p", message: { content: "Hi" } };
  const call = { type: "tool_use", id: "t", name: "Bash" };
  const content = [{ type: "text", text: "Let me see" }, call];
  const called = { type: "assistant", message: { id: "a", model: "m", content } };
  const result = { type: "tool_result", tool_use_id: "t" };
  const returned = { type: "user", message: { content: [result] } };
  for (const lines of [[prompt, called], [prompt, called, returned]]) {
    const [turn] = turnsOf(linesOf(...lines));
    assertEquals(resultFrame({ ...FACTS, lastAssistantMessage, turn }).result, "From the hook");
    assertEquals(resultFrame({ ...FACTS, turn }).result, "");
  }
});

Deno.test("resultFrame: tells a StopFailure that the transcript does not show", () => {
  const outcome = { kind: "failed", error: "rate_limit", text: "Slow down" } as const;
  const result = resultFrame({ ...FACTS, outcome });
  assertEquals([result.subtype, result.is_error, result.result], ["success", true, "Slow down"]);
  assertEquals([result.api_error_status, result.terminal_reason], [null, "api_error"]);
});

Deno.test("resultFrame: holds an answer back that is one to another prompt", () => {
  const outcome = { kind: "internal_error", message: "Changed" } as const;
  const [turn] = turnsOf(linesOf({
    type: "assistant",
    message: { id: "a", model: "m", content: [{ type: "text", text: "Hi" }], usage: {} },
  }));
  assertEquals(resultFrame({ ...FACTS, outcome, turn }).result, "Hi");
  assertEquals(resultFrame({ ...FACTS, outcome, turn, isForeign: true }).result, undefined);
});

Deno.test("resultFrame: leaves the cost out if it is not known", () => {
  const result = resultFrame(FACTS);
  assert(!("total_cost_usd" in result));
  assertEquals([result.duration_api_ms, result.modelUsage], [0, {}]);
});

Deno.test("resultFrame: says no basis of a price that it cannot attribute", () => {
  assertEquals(resultFrame({ ...FACTS, cost: COST }).modelUsage, {
    "claude-opus-5-5": {
      inputTokens: 1,
      costUSD: 0.5,
      contextWindow: 1_000_000,
      maxOutputTokens: 128_000,
      canonicalModel: "claude-opus-5-5",
      provider: "firstParty",
    },
    other: { inputTokens: 2, canonicalModel: "other", provider: "firstParty" },
  });
});

Deno.test("resultFrame: prefers the requests' own limit and the caller's times", () => {
  const result = resultFrame({
    ...FACTS,
    cost: { ...COST, modelUsage: { "claude-opus-4-8[1m]": {} } },
    maxOutputTokens: new Map([["claude-opus-4-8", 7]]),
    provider: "bedrock",
    durationMs: 99,
  });
  assertEquals(result.duration_ms, 99);
  assertEquals(result.modelUsage, {
    "claude-opus-4-8[1m]": {
      contextWindow: 1_000_000,
      maxOutputTokens: 7,
      canonicalModel: "claude-opus-4-8",
      provider: "bedrock",
      costBasis: "unknown",
    },
  });
});

Deno.test("resultFrame: passes on usage fields that are not known yet", () => {
  const message = { id: "a", model: "m", content: [], usage: { input_tokens: 1, new_tokens: 2 } };
  const [turn] = turnsOf(linesOf({ type: "assistant", message }, {
    type: "assistant",
    message: { ...message, id: "b" },
  }));
  const { usage } = resultFrame({ ...FACTS, turn });
  assert(typeof usage === "object" && usage !== null && "new_tokens" in usage);
  assertEquals(usage.new_tokens, 4);
});

Deno.test("resultFrame: says that a person asked, if the sender of the message does", () => {
  const originOf = (messages: NonNullable<ResultFacts["messages"]>) =>
    resultFrame({ ...FACTS, messages })["origin"];
  assertEquals(originOf([{ human: true }]), { kind: "human" });
  assertEquals(originOf([{}, { human: true }]), undefined);
  assertEquals(originOf([{ human: true, synthetic: true }]), { kind: "unclassified" });
});

Deno.test("resultFrame: tells what a turn's first request has read to whoever gave its first message an id", () => {
  const answers = [[3, 5, 7], [3, 12, 1]].map(([input, cached, written], at) => ({
    type: "assistant",
    message: {
      id: `a${at}`,
      model: "m",
      content: [{ type: "text", text: "x" }],
      usage: {
        input_tokens: input,
        cache_read_input_tokens: cached,
        cache_creation_input_tokens: written,
      },
    },
  }));
  const prompt = { type: "user", uuid: "p", message: { content: "Hi" } };
  const [turn] = turnsOf(linesOf(prompt, ...answers));
  const told = (more: Partial<ResultFacts>) => {
    const result = resultFrame({ ...FACTS, turn, sentAt: 9, ...more });
    return [
      ...["user_message_uuid", "request_sent_wall_ms", "first_request_input_tokens"],
      "first_request_cache_read_input_tokens",
    ].map((field) => result[field]);
  };
  const [first, other] = [{ uuid: "one" }, { uuid: "other" }];
  const all = [9, 15, 5];
  const none = [undefined, undefined, undefined];
  assertEquals(told({ messages: [first] }), ["one", ...all]);
  assertEquals(told({ messages: [first, other] }), ["other", ...all]);
  assertEquals(told({ messages: [first, {}] }), ["one", ...all]);
  // One that has joined the turn is named where the turn began with none that has an id.
  assertEquals(told({ messages: [first, other], joined: [other] }), ["one", ...all]);
  assertEquals(told({ messages: [{}, other], joined: [other] }), ["other", ...none]);
  const synthetic = { ...first, synthetic: true } as const;
  assertEquals(told({ messages: [synthetic] }), ["one", ...all]);
  assertEquals(told({ messages: [synthetic, other], joined: [other] }), ["other", ...none]);
  assertEquals(told({ messages: [] }), [undefined, ...none]);
  assertEquals(told({ messages: [first], turn: undefined }), ["one", 9, undefined, undefined]);
  const stopped = { kind: "error_during_execution", message: "stopped" } as const;
  assertEquals(told({ messages: [first], outcome: stopped }), ["one", ...none]);
});

Deno.test("resultFrame: tells of a hook that does not let the turn go on, and nothing of ours", () => {
  const reason = (attachment: object) =>
    resultFrame({
      ...FACTS,
      turn: turnsOf(linesOf(
        { type: "user", uuid: "p", message: { content: "Hi" } },
        { type: "assistant", message: { id: "a", model: "m", content: [] } },
        { type: "attachment", attachment: { type: HALTED, ...attachment } },
      ))[0],
    }).terminal_reason;
  assertEquals(reason({ hookEvent: "Stop", message: "enough" }), "stop_hook_prevented");
  assertEquals(reason({ hookEvent: "PostToolUse", message: "enough" }), "hook_stopped");
  assertEquals(reason({ hookEvent: "Stop", message: AT_LIMIT }), "completed");
});

Deno.test("resultFrame: has no text where a hook wants a turn to go on that another one ends", () => {
  const halted = { type: HALTED, hookEvent: "Stop", message: "enough" };
  const lines = [
    { type: "user", uuid: "p", message: { content: "Hi" } },
    { type: "assistant", message: { id: "a", model: "m", content: [{ type: "text", text: "x" }] } },
    { type: "attachment", attachment: halted },
    { type: "user", isMeta: true, message: { content: "Stop hook feedback:\ngo on" } },
  ];
  const result = (count: number) =>
    resultFrame({ ...FACTS, turn: turnsOf(linesOf(...lines.slice(0, count)))[0] }).result;
  assertEquals([result(3), result(4)], ["x", ""]);
});

const PROMPT = { type: "user", uuid: "p", message: { content: "Hi" } };

Deno.test("resultFrame: a structured answer is the result", () => {
  const call = { type: "tool_use", id: "t", name: OUTPUT_TOOL, input: { n: 1 } };
  const [turn] = turnsOf(linesOf(
    PROMPT,
    { type: "assistant", message: { id: "a", model: "m", content: [call] } },
    {
      type: "user",
      message: { content: [{ type: "tool_result", tool_use_id: "t", content: "" }] },
    },
    { type: "assistant", message: { id: "b", model: "m", content: [{ type: "text", text: "x" }] } },
  ));
  const { result, structured_output } = resultFrame({ ...FACTS, turn });
  assertEquals<unknown>([result, structured_output], ['{"n":1}', { n: 1 }]);
});

/** A line of an answer that has used and written so many tokens. */
function paid(id: string, tokens: number, more: object = {}): object {
  const cache_creation = { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: tokens };
  const usage = { input_tokens: tokens, cache_creation_input_tokens: tokens, cache_creation };
  const message = { id, model: "m", content: [], usage, stop_reason: "tool_use", ...more };
  return { type: "assistant", timestamp: "2026-01-01T00:00:00Z", message };
}

Deno.test("resultFrame: counts an answer without anything in it, which leaves no line, by what was paid", () => {
  const remark = {
    type: "user",
    isMeta: true,
    timestamp: "2026-01-01T00:00:01Z",
    message: { content: "[Your previous response had no visible output. Please continue.]" },
  };
  const result = (lines: readonly object[], modelUsage: Cost["modelUsage"]) =>
    resultFrame({
      ...FACTS,
      turn: turnsOf(linesOf(PROMPT, ...lines))[0],
      cost: { ...COST, modelUsage },
    });
  const m = { inputTokens: 5, cacheCreationInputTokens: 7 };
  const told = (lines: readonly object[], modelUsage: Cost["modelUsage"] = { m }) => {
    const { usage, stop_reason } = result(lines, modelUsage);
    const { input_tokens, cache_creation } = usage as Record<string, unknown>;
    return [stop_reason, input_tokens, cache_creation];
  };
  const kept = (tokens: number) => ({
    ephemeral_1h_input_tokens: 0,
    ephemeral_5m_input_tokens: tokens,
  });
  assertEquals(told([paid("a", 2), remark]), ["end_turn", 5, kept(7)]);
  assertEquals(told([paid("a", 2)]), ["tool_use", 2, kept(2)], "all answers have lines");
  assertEquals(told([paid("a", 2), remark], { m, other: m })[1], 2, "nobody knows whose");
  const subagent = { content: [{ type: "tool_use", id: "t", name: "Agent" }] };
  assertEquals(told([paid("a", 2, subagent), remark])[1], 2, "a subagent has cost something too");
  const [turn] = turnsOf(linesOf(PROMPT, remark));
  const outcome = { kind: "error_max_turns", turns: 1, message: "m" } as const;
  assertEquals(
    resultFrame({ ...FACTS, outcome, turn }).stop_reason,
    "end_turn",
    "none has a line",
  );
});

Deno.test("resultFrame: does not count an answer that the API broke off, but one that ended before", () => {
  const failed = {
    type: "assistant",
    isApiErrorMessage: true,
    message: { id: "e", model: "<synthetic>", content: [{ type: "text", text: "API Error" }] },
  };
  const tokens = (answer: object) => {
    const { usage } = resultFrame({
      ...FACTS,
      turn: turnsOf(linesOf(PROMPT, answer, failed))[0],
    });
    return (usage as Record<string, unknown>)["input_tokens"];
  };
  assertEquals(tokens(paid("a", 2, { stop_reason: null })), 0);
  assertEquals(tokens(paid("a", 2, { stop_reason: "max_tokens" })), 2);
  assertEquals(tokens(paid("a", 2, { stop_reason: "refusal" })), 2);
});
