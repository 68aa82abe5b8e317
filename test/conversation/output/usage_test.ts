import { assert, assertEquals } from "@std/assert";
import {
  mergedUsage,
  modelLimits,
  usageSince,
} from "../../../src/conversation/output/result/model_usage.ts";
import {
  NO_TURNS,
  subagentStats,
  withTurns,
} from "../../../src/conversation/output/result/turn_totals.ts";
import type {
  EarlierOutput,
  OutputOptions,
} from "../../../src/conversation/output/output_options.ts";
import { startOutput } from "../../../src/conversation/output/output_state.ts";
import {
  costNote,
  type CostState,
  leftForNextChild,
  usageBefore,
  usageSoFar,
} from "../../../src/conversation/output/turns/conversation_cost.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import type { Ending } from "../../../src/conversation/control/effect.ts";
import { splitTurns } from "../../../src/claude/transcript/turn.ts";
import { readRecording, recordingNames } from "../../claude/transcript/recording.ts";
import { CLOSED, consulted, message, request } from "../control/caller_inputs.ts";
import { BUSY, cost, EXIT, hook, IDLE, REACHABLE, submit } from "../control/inputs.ts";
import { conversationOptions } from "./conversation_options.ts";
import {
  answer,
  attached,
  call,
  entryOf,
  type Line,
  notification,
  OVER,
  prompt,
  REQUEST,
  result,
  text,
} from "./lines.ts";
import { fieldsOf } from "./outlines.ts";
import { ConversationRun, FramesRun, type News, VERSION } from "./runs.ts";

const ONE = { opus: { inputTokens: 3, costUSD: 0.1 } };
const OTHER = { opus: { inputTokens: 4, costUSD: 0.2 }, sonnet: { inputTokens: 1, costUSD: 0.01 } };

Deno.test("usage of models is added and subtracted", () => {
  assertEquals([mergedUsage({}, ONE), mergedUsage(ONE, {})], [ONE, ONE]);
  assertEquals(mergedUsage(ONE, OTHER), {
    opus: { inputTokens: 7, costUSD: 0.3 },
    sonnet: OTHER.sonnet,
  });
  const known = { contextWindow: 1000, provider: "firstParty" };
  const now = { opus: { ...ONE.opus, ...known }, sonnet: { ...OTHER.sonnet, ...known } };
  assertEquals(usageSince({}, now), now);
  assertEquals(usageSince(ONE, now), { sonnet: now.sonnet });
  assertEquals(usageSince({ sonnet: { inputTokens: 1, costUSD: 0 } }, now), {
    opus: now.opus,
    sonnet: { inputTokens: 0, costUSD: 0.01, ...known },
  });
});

Deno.test("modelLimits() has the limits that claude -p prints", () => {
  // What `claude -p` 2.1.330 printed for `--model`, in thousands of tokens.
  const rows = [
    ["claude-opus-5-5", 1000, 128],
    ["claude-opus-5", 1000, 64],
    ["claude-opus-4-7", 1000, 64],
    ["claude-opus-4-6", 200, 64],
    ["claude-opus-4-5-20251101", 200, 32],
    ["claude-sonnet-5-5", 1000, 128],
    ["claude-sonnet-4-6", 200, 32],
    ["claude-sonnet-4-6[1m]", 1000, 32],
    ["claude-haiku-5-5", 1000, 128],
    ["claude-haiku-4-5", 200, 32],
    ["claude-fable-5-1", 1000, 64],
    ["claude-mythos-5-2", 1000, 128],
  ] as const;
  for (const [model, window, output] of rows) {
    const limits = { contextWindow: window * 1000, maxOutputTokens: output * 1000 };
    assertEquals(modelLimits(model), limits, model);
  }
  for (const model of ["gpt-4", "claude-opus-6", "anthropic.claude-opus-4-8-v1", ""]) {
    assertEquals(modelLimits(model), {});
  }
});

Deno.test("totals do not depend on how turns are taken", () => {
  const counts = recordingNames().map((name) => {
    const turns = splitTurns(readRecording(name).entries);
    const all = withTurns(NO_TURNS, turns);
    const oneByOne = turns.reduce((totals, turn) => withTurns(totals, [turn]), NO_TURNS);
    assertEquals(oneByOne, all, name);
    return [all.count, subagentStats(all.subagents).spawned];
  });
  assert(counts.some(([count = 0, spawned]) => count > 1 && spawned === 1));
});

const turnsIn = (lines: readonly Line[], begins: readonly string[] = []) =>
  splitTurns(lines.map(entryOf), { begins: new Set(begins) });

Deno.test("refusals of all turns are counted", () => {
  const answered = (id: string, stop_reason: string) => {
    const line = text(id);
    return { ...line, message: { ...line.message, stop_reason } };
  };
  const asked = (uuid: string) => prompt("Go", { uuid });
  const turns = turnsIn(
    [asked("1"), answered("a", "refusal"), asked("2"), answered("b", "end_turn")],
    ["2"],
  );
  assertEquals([turns.length, withTurns(NO_TURNS, turns).refusals], [2, 1]);
});

Deno.test("background subagents are counted by their ends", () => {
  const launched = result("t", { agentId: "one", isAsync: true });
  const turns = turnsIn([prompt(), call("t", "Agent", {}), launched]);
  const { subagents } = withTurns(NO_TURNS, turns);
  const before = subagentStats(subagents, { ends: new Map([["one", "completed"]]) });
  const rows: readonly (readonly [readonly (readonly [string, string])[], readonly number[]])[] = [
    [[], [2, 1, 0]],
    [[["one", "completed"]], [2, 2, 0]],
    [[["one", "failed"], ["two", "failed"]], [2, 1, 1]],
  ];
  for (const [ends, counts] of rows) {
    const stats = subagentStats(subagents, { ends: new Map(ends), before });
    assertEquals([stats.spawned, stats.completed, stats.failed], counts);
    assertEquals(stats.by_type, { "general-purpose": 2 });
  }
});

const { frames: OPTIONS, report: REPORT } = conversationOptions();

Deno.test("usage has a model's full name, wherever it was named", () => {
  const model = answer([], "a");
  const turns = withTurns(
    NO_TURNS,
    turnsIn([prompt(), { ...model, message: { ...model.message, model: "claude-opus-4-8" } }]),
  );
  const whole = "claude-opus-4-8[1m]";
  const rows = [
    [{}, "claude-opus-4-8"],
    [{ model: whole }, whole],
    [{ described: { model: whole } }, whole],
    [{ options: { ...OPTIONS, model: whole } }, whole],
    [{ model: "claude-sonnet-5-5[1m]" }, "claude-opus-4-8"],
  ] as const satisfies readonly (readonly [Partial<CostState>, string])[];
  for (const [more, name] of rows) {
    // Nothing was paid before, so the sum is not rounded.
    const cost = { totalUsd: 0.1 + 0.2, apiDurationMs: 1 };
    const state = { ...startOutput(OPTIONS, REPORT), cost, ...more };
    const used = Object.entries(usageSoFar(state, turns) ?? {});
    assertEquals<unknown>(used.map(([name, { costUSD }]) => [name, costUSD]), [[name, 0.1 + 0.2]]);
  }
});

const MODEL_USAGE = { m: { inputTokens: 7, outputTokens: 5, costUSD: 0.5 } };
const NOTED = {
  type: "cost-state",
  totalCostUSD: 0.5,
  totalAPIDuration: 10,
  modelUsage: MODEL_USAGE,
};
const BEFORE: EarlierOutput = {
  results: 1,
  totalUsd: 0.5,
  apiDurationMs: 10,
  modelUsage: MODEL_USAGE,
};

Deno.test("a resumed session's usage goes on from its last note", () => {
  const hello = text("Hello");
  const paid = { ...hello, message: { ...hello.message, usage: { output_tokens: 3 } } };
  const turns = withTurns(NO_TURNS, turnsIn([prompt(), paid]));
  const rows = [
    ["noted", 0.75, [NOTED], undefined, [7, 8, 0.75], MODEL_USAGE],
    ["a child that begins anew", 0.25, [NOTED], undefined, [0, 3, 0.25], {}],
    ["not noted", 0.75, [], undefined, undefined, undefined],
    ["told by the child before", 0.75, [], BEFORE, [7, 8, 0.75], MODEL_USAGE],
  ] as const;
  for (const [name, totalUsd, lines, before, used, known] of rows) {
    const run = new FramesRun({ conversation: true, ...before && { before } });
    run.give({ type: "earlier", entries: [prompt(), ...lines].map(entryOf) });
    run.give({ type: "cost", totalUsd, apiDurationMs: 20, ranAt: 1 });
    const { m } = usageSoFar(run.state, turns) ?? {};
    assertEquals<unknown>(m && [m["inputTokens"], m["outputTokens"], m["costUSD"]], used, name);
    if (used !== undefined) assertEquals<unknown>(usageBefore(run.state), known, name);
  }
});

/** A conversation whose child can be reached. */
function reached(frames: Partial<OutputOptions> = {}, ...news: readonly News[]) {
  const run = new ConversationRun({
    session: { conversation: true, version: VERSION },
    frames: { conversation: true, version: VERSION, ...frames },
  });
  for (const each of [REACHABLE, ...news]) {
    run.waitUntil(run.now + 1);
    run.give(each);
  }
  return run;
}

const spent = (totalUsd: number, added: number): News => ({
  type: "cost",
  totalUsd,
  apiDurationMs: 5,
  lines: { added, removed: 1 },
});
const ASKED = request("get_usage", {}, "1");
const NOTHING = {
  total_cost_usd: 0,
  total_api_duration_ms: 0,
  total_lines_added: 0,
  total_lines_removed: 0,
  model_usage: {},
};
const SPENT = {
  ...NOTHING,
  total_cost_usd: 0.25,
  total_api_duration_ms: 5,
  total_lines_added: 4,
  total_lines_removed: 1,
};

/** The answer to a caller who asks for the usage after some inputs. */
function usage(frames: Partial<OutputOptions>, ...before: readonly News[]) {
  const account = { subscription_type: "max", rate_limits: { five_hour: { utilization: 7 } } };
  // The headless Claude Code has used nothing itself.
  const session = { total_cost_usd: 0, model_usage: {} };
  const response = { session, ...account, behaviors: { day: {} } };
  const run = reached(frames, ...before, ASKED, consulted("1", { response }));
  const [[told] = []] = fieldsOf(run.frames, "control_response", "response");
  const { session: used, ...rest } = (told as JsonObject)["response"] as JsonObject;
  assertEquals(rest, { ...account, behaviors: null });
  const { total_duration_ms: _, ...counts } = used as JsonObject;
  return { run, counts, duration: (used as JsonObject)["total_duration_ms"] };
}

Deno.test("a conversation has used what its children have", () => {
  assertEquals(usage({}).counts, NOTHING);
  const { run, counts, duration } = usage({}, spent(0.25, 4));
  assertEquals([counts, duration], [SPENT, 4]);
  const startedAt = OPTIONS.startedAt + 1000;
  const next = { startedAt, before: leftForNextChild(run.state.frames, []) };
  const later = usage(next);
  assertEquals([later.counts, later.duration], [SPENT, 1003]);
  // The next child counts from nothing, or goes on.
  const both = { ...SPENT, total_cost_usd: 0.375, total_lines_added: 6 };
  assertEquals(usage(next, spent(0.125, 2)).counts, {
    ...both,
    total_api_duration_ms: 10,
    total_lines_removed: 2,
  });
  assertEquals(usage(next, spent(0.375, 6)).counts, both);
});

Deno.test("an unknown account is an error", () => {
  const run = reached({}, ASKED, consulted("1", { error: "no" }));
  assertEquals(fieldsOf(run.frames, "control_response", "response"), [
    [{ subtype: "error", request_id: "1", error: "no" }],
  ]);
});

Deno.test("/cost prints what the conversation has used", () => {
  const words = "You are currently using your subscription to power your Claude Code usage";
  const report = { session: { total_cost_usd: 0, model_usage: {} }, rate_limits: null };
  const fields = { usage_report: report };
  const run = reached(
    {},
    hook("SessionStart"),
    IDLE,
    spent(0.25, 4),
    {
      type: "message",
      message: { text: "/cost", settled: { kind: "asked", version: VERSION, alone: true } },
    },
    consulted("claude-print slash_command", {
      init: { subtype: "init" },
      response: { text: words, name: "cost", words, fields },
    }),
  );
  const [told] = run.frames.flatMap(({ usage_report: told }) => told === undefined ? [] : [told]);
  assertEquals(told, { session: { ...SPENT, total_duration_ms: 6 }, rate_limits: null });
});

Deno.test("a conversation's cost is noted if known of each model", () => {
  const { startedAt } = OPTIONS;
  const note = (frames: Partial<OutputOptions>, ...news: readonly News[]) =>
    costNote(reached(frames, ...news).state.frames, { sessionId: "s", now: startedAt + 9 });
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
  assertEquals(note({}), nothing);
  assertEquals(note({}, spent(0.25, 4)), undefined);
  assertEquals(note({ before: { ...BEFORE, startedAt } }), {
    ...nothing,
    totalCostUSD: 0.5,
    totalAPIDuration: 10,
    totalAPIDurationWithoutRetries: 10,
    modelUsage: MODEL_USAGE,
  });
});

/** A child of a conversation. */
const child = (options: Partial<OutputOptions> = {}) =>
  new FramesRun({ conversation: true, ...options });

/** Tells of a turn in which a subagent has run whose words are never read. */
function takeTurn(run: FramesRun, id: string): void {
  run.give(message(id));
  const done = { agentId: "a", agentType: "looker", status: "completed" };
  run.push(
    prompt(id, { uuid: `p-${id}` }),
    REQUEST,
    answer(
      [{ type: "tool_use", id, name: "Agent", input: { run_in_background: false } }],
      id,
      { uuid: `a-${id}` },
    ),
    result(id, done),
  );
  if (run.due("subagent") !== undefined) run.pass("subagent");
  run.endTurn({ kind: "answered", stop: {} }, { recorded: true });
}

/** Settles a command that the child knows nothing of. */
const command = (run: FramesRun, text: string, begun?: string) =>
  run.settle({
    text,
    settled: {
      ...{ kind: "local", text: "", version: VERSION },
      ...(begun === undefined ? {} : { carried: { begun } }),
    },
  });

/** How many subagents there have been by the last results. */
const spawned = (run: FramesRun) =>
  fieldsOf(run.take(), "result", "subagent_stats").map(([stats]) => {
    const { spawned, completed, by_type } = stats as Line;
    return [spawned, completed, by_type];
  });

Deno.test("a turn has a cost before the first status line", () => {
  for (const [options, total] of [[{}, 0], [{ before: { ...BEFORE, results: 0 } }, 0.5]] as const) {
    const run = child(options);
    takeTurn(run, "One");
    assertEquals(fieldsOf(run.take(), "result", "total_cost_usd"), [[total]]);
  }
});

Deno.test("a turn lasts until its last line or its end", () => {
  const rows = [
    [{ kind: "answered", stop: {} }, 0],
    [{ kind: "max-turns" }, 0],
    [{ kind: "budget" }, 0],
    [{ kind: "output-tries" }, 0],
    [{ kind: "timeout" }, 5000],
    [{ kind: "aborted" }, 5000],
  ] as const satisfies readonly (readonly [Ending, number])[];
  for (const [ending, duration] of rows) {
    const run = child();
    run.give(message("Hi"));
    run.push(prompt(), REQUEST, text("x"));
    run.waitUntil(5000);
    run.endTurn(ending, { recorded: true });
    assertEquals(fieldsOf(run.take(), "result", "duration_ms"), [[duration]], ending.kind);
  }
});

/** A run that may cost a dollar, and has made two calls. */
function bounded(before?: EarlierOutput): ConversationRun {
  const limit = { maxBudgetUsd: 1 };
  const run = new ConversationRun({
    session: { ...limit, version: VERSION, ...(before && { paidUsd: before.totalUsd }) },
    ...(before && { frames: { before } }),
    report: limit,
  });
  run.give(message("Hi"), CLOSED, REACHABLE, IDLE, BUSY, submit("Hi"));
  if (before === undefined) run.give(cost(0.5));
  run.push(prompt(), REQUEST, call("a"), call("b"));
  return run;
}

Deno.test("results of calls are printed up to the budget's end", () => {
  const run = bounded();
  const { startedAt } = run.state.frames.options;
  run.waitUntil(3000);
  run.give({ ...cost(2), ranAt: startedAt + 2000 });
  const returned = (id: string, ms: number) => ({
    ...result(id),
    timestamp: new Date(startedAt + ms).toISOString(),
  });
  run.push(returned("a", 1999), returned("b", 2000));
  const returns = run.frames.filter(({ type }) => type === "user");
  assertEquals(JSON.stringify(returns).match(/(?<="tool_use_id":")\w/g), ["a"]);
});

Deno.test("run beyond its budget has one result", () => {
  const run = bounded();
  run.push(result("a"), result("b"));
  run.give(cost(2), hook("PostToolBatch", {}, "batch"), IDLE, submit(notification("b1")));
  run.push(attached("hook_stopped_continuation"), OVER, prompt(notification("b1"), { uuid: "n" }));
  run.give(EXIT);
  assertEquals(fieldsOf(run.frames, "result", "subtype", "num_turns"), [
    ["error_max_budget_usd", 3],
  ]);
});

Deno.test("budget counts the cost before the child once", () => {
  const before = { totalUsd: 0.75, apiDurationMs: 0, results: 1 };
  const rows = [[[0.2], 0], [[0.7], 1], [[0.95], 0], [[0.95, 1.1], 1], [[0.2, 0.8], 1]] as const;
  for (const [costs, kills] of rows) {
    const run = bounded(before);
    run.give(hook("PreToolUse", {}, "a"), ...costs.map(cost), hook("PreToolUse", {}, "b"));
    assertEquals(run.of("kill").length, kills, `${costs}`);
  }
});

Deno.test("child that goes on at the turn limit has one result", () => {
  const run = new ConversationRun({ session: { maxTurns: 1 }, report: { maxTurns: 1 } });
  run.give(message("Hi"), CLOSED, REACHABLE, IDLE, BUSY, submit("Hi"));
  run.push(prompt(), REQUEST, call("a"), result("a"));
  run.give(hook("PostToolBatch", {}, "batch"));
  run.push(attached("hook_stopped_continuation"), OVER);
  run.give(IDLE, submit(notification("b1")));
  run.push(prompt(notification("b1"), { uuid: "n" }), text("One"));
  run.give(EXIT);
  assertEquals(fieldsOf(run.frames, "result", "subtype"), [["error_max_turns"]]);
});

Deno.test("subagents are counted for the whole conversation", () => {
  const first = child();
  takeTurn(first, "One");
  command(first, "/goal");
  const one = [1, 1, { looker: 1 }];
  assertEquals(spawned(first), [one, one]);
  const next = child({ before: leftForNextChild(first.state, []) });
  command(next, "/goal");
  takeTurn(next, "Two");
  assertEquals(spawned(next), [one, [2, 2, { looker: 2 }]]);
  command(next, "/clear", "another");
  assertEquals(spawned(next), [[0, 0, {}]]);
  assertEquals(leftForNextChild(next.state, []).subagents?.spawned, 0);
});

Deno.test("safety stops are counted for the whole conversation", () => {
  const run = child({ before: { ...BEFORE, safetyStops: 2 } });
  takeTurn(run, "One");
  command(run, "/goal");
  assertEquals(fieldsOf(run.take(), "result", "safety_stops"), [[2], [2]]);
  assertEquals(leftForNextChild(run.state, []).safetyStops, 2);
  const none = child();
  takeTurn(none, "One");
  assertEquals("safetyStops" in leftForNextChild(none.state, []), false);
});

Deno.test("a conversation keeps the lines of its last turns alone", () => {
  const run = child();
  const kept = Array.from({ length: 9 }, (_, index) => {
    takeTurn(run, `Turn ${index}`);
    return run.state.kept.entries?.length;
  });
  // Lines of the last printed turn may still be written.
  assertEquals(kept.slice(1), kept.slice(1).fill(kept[0]));
  assertEquals(fieldsOf(run.take(), "result", "result_index").flat(), [...kept.keys()]);
  assertEquals(leftForNextChild(run.state, []).results, 9);
  // Claude Code may write again what a compaction leaves as it is.
  const preservedMessages = { uuids: ["a-Turn 0", "a-Turn 8"] };
  run.push({ type: "system", subtype: "compact_boundary", compactMetadata: { preservedMessages } });
  run.push(prompt("Much was said", { isCompactSummary: true, uuid: "summary" }));
  for (const id of ["0", "8", "9"]) run.push(text(`Turn ${id}`, { uuid: `a-Turn ${id}` }));
  assertEquals(fieldsOf(run.take(), "assistant", "uuid"), [["a-Turn 9"]]);
});

Deno.test("a message for the next child is queued once", () => {
  const message = { text: "Hi", uuid: "m", way: "rendezvous" } as const;
  const before = leftForNextChild(child({ version: VERSION }).state, [message]);
  for (const [uuid, states] of [["m", []], ["other", [["queued"]]]] as const) {
    const next = new FramesRun({ version: VERSION, before });
    next.give({ type: "message", message: { ...message, uuid } });
    assertEquals<unknown>(fieldsOf(next.take(), "command_lifecycle", "state"), states);
  }
});
