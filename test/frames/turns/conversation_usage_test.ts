import { assertEquals } from "@std/assert";
import { advance, startConversation } from "../../../src/frames/advance.ts";
import { costNote } from "../../../src/frames/turns/conversation_usage.ts";
import { toldBy } from "../../../src/frames/turns/told_by.ts";
import type { Input, Untimed } from "../../../src/session/input.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import { conversationOptions } from "../conversation_options.ts";

const { session, frames, report } = conversationOptions({ conversation: true, version: "2.1.332" });
const OPTIONS = {
  session,
  frames: { ...frames, conversation: true, version: "2.1.332" } as const,
  report,
};
const MODEL = { type: "consulted", id: "1" } as const;
const ASKED = { type: "control", request: { id: "1", subtype: "get_usage", body: {} } } as const;

/** What a headless Claude Code says, which has used nothing itself. */
const SAID = {
  session: { total_cost_usd: 0, model_usage: {} },
  subscription_type: "max",
  rate_limits: { five_hour: { utilization: 7, resets_at: null } },
  behaviors: { day: {} },
};

/** A conversation after inputs, and what it has answered. */
function after(options: typeof OPTIONS, inputs: readonly Untimed<Input>[]) {
  let state = startConversation(options);
  const answers: JsonObject[] = [];
  const frames: JsonObject[] = [];
  for (const [at, input] of inputs.entries()) {
    const next = advance(state, { ...input, at } as Input);
    state = next.state;
    for (const effect of next.effects) {
      if (effect.type !== "frame") continue;
      const frame = effect.frame as unknown as JsonObject;
      frames.push(frame);
      if (frame["type"] === "control_response") answers.push(frame["response"] as JsonObject);
    }
  }
  return { state, answers, frames };
}

const spent = (totalUsd: number, added: number): Untimed<Input> => ({
  type: "cost",
  totalUsd,
  apiDurationMs: 5,
  lines: { added, removed: 1 },
});

/** The answer to a caller who asks after inputs, beside the account of the headless one. */
function usage(options: typeof OPTIONS, before: readonly Untimed<Input>[]) {
  const { state, answers } = after(options, [
    { type: "reachable" },
    ...before,
    ASKED,
    { ...MODEL, said: { response: SAID } },
  ]);
  const { session, ...account } = answers[0]?.["response"] as JsonObject;
  assertEquals(account, {
    subscription_type: "max",
    rate_limits: SAID.rate_limits,
    behaviors: null,
  });
  return { state, session };
}

Deno.test("what a conversation has used is what its children have told, and not who is asked beside them", () => {
  const nothing = {
    total_cost_usd: 0,
    total_api_duration_ms: 0,
    total_duration_ms: 2,
    total_lines_added: 0,
    total_lines_removed: 0,
    model_usage: {},
  };
  assertEquals(usage(OPTIONS, []).session, nothing);
  const { state, session } = usage(OPTIONS, [spent(0.25, 4)]);
  const first = {
    total_cost_usd: 0.25,
    total_api_duration_ms: 5,
    total_duration_ms: 3,
    total_lines_added: 4,
    total_lines_removed: 1,
    model_usage: {},
  };
  assertEquals(session, first);
  const { startedAt } = OPTIONS.frames;
  const told = toldBy(state.frames, []);
  const next = {
    ...OPTIONS,
    frames: { ...OPTIONS.frames, startedAt: startedAt + 1000, before: told },
  };
  assertEquals(usage(next, []).session, { ...first, total_duration_ms: 1002 });
  // The next child counts from nothing, or goes on.
  const both = { ...first, total_duration_ms: 1003, total_cost_usd: 0.375, total_lines_added: 6 };
  assertEquals(usage(next, [spent(0.125, 2)]).session, {
    ...both,
    total_api_duration_ms: 10,
    total_lines_removed: 2,
  });
  assertEquals(usage(next, [spent(0.375, 6)]).session, both);
});

Deno.test("that nothing could be learned of the account is an error, whatever has been used", () => {
  const { answers } = after(OPTIONS, [
    { type: "reachable" },
    ASKED,
    { ...MODEL, said: { error: "no" } },
  ]);
  assertEquals(answers, [{ subtype: "error", request_id: "1", error: "no" }]);
});

Deno.test("/cost tells what the conversation has used, too", () => {
  const text = "You are currently using your subscription to power your Claude Code usage";
  const report = { session: { total_cost_usd: 0, model_usage: {} }, rate_limits: null };
  const { frames } = after(OPTIONS, [
    { type: "reachable" },
    { type: "hook", event: "SessionStart", payload: {} },
    { type: "status", status: "idle" },
    spent(0.25, 4),
    {
      type: "message",
      message: { text: "/cost", settled: { kind: "asked", version: "2.1.332", alone: true } },
    },
    {
      type: "consulted",
      id: "claude-print slash_command",
      said: {
        init: { subtype: "init" },
        response: { text, name: "cost", words: text, fields: { usage_report: report } },
      },
    },
  ]);
  const [told] = frames.flatMap(({ usage_report: told }) => told === undefined ? [] : [told]);
  assertEquals(told, {
    session: {
      total_cost_usd: 0.25,
      total_api_duration_ms: 5,
      total_duration_ms: 5,
      total_lines_added: 4,
      total_lines_removed: 1,
      model_usage: {},
    },
    rate_limits: null,
  });
});

Deno.test("what a conversation has cost is noted where it is known of each model", () => {
  const { startedAt } = OPTIONS.frames;
  const noted = (options: typeof OPTIONS, inputs: readonly Untimed<Input>[]) =>
    costNote(after(options, inputs).state.frames, { sessionId: "s", now: startedAt + 9 });
  const nothing = {
    type: "cost-state",
    sessionId: "s",
    totalCostUSD: 0,
    totalAPIDuration: 0,
    totalAPIDurationWithoutRetries: 0,
    totalToolDuration: 0,
    totalLinesAdded: 0,
    totalLinesRemoved: 0,
    totalDuration: 9,
    startTime: startedAt,
    modelUsage: {},
    hasUnknownModelCost: false,
  };
  assertEquals(noted(OPTIONS, []), nothing);
  assertEquals(noted(OPTIONS, [spent(0.25, 4)]), undefined);
  const modelUsage = { m: { costUSD: 0.25 } };
  const before = { results: 1, totalUsd: 0.25, apiDurationMs: 5, startedAt, modelUsage };
  const next = { ...OPTIONS, frames: { ...OPTIONS.frames, before } };
  const cost = { totalCostUSD: 0.25, totalAPIDuration: 5, totalAPIDurationWithoutRetries: 5 };
  assertEquals(noted(next, []), { ...nothing, ...cost, modelUsage });
});
