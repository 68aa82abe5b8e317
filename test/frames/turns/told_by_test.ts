import { assertEquals } from "@std/assert";
import { tellInput } from "../../../src/frames/tell_input.ts";
import { tellTurnEnd } from "../../../src/frames/tell_end.ts";
import { awaitMessage } from "../../../src/frames/messages.ts";
import type { SubagentStats } from "../../../src/frames/result/subagent_stats.ts";
import { type FramesState, startFrames } from "../../../src/frames/telling/frames_state.ts";
import { toldBy } from "../../../src/frames/turns/told_by.ts";
import { tellResult } from "../../../src/frames/turns/tell_result.ts";
import type { Input } from "../../../src/session/input.ts";
import type { SettledMessage } from "../../../src/session/message.ts";
import type { Frame } from "../../../src/wire/frame.ts";
import { line } from "../../transcript/lines.ts";
import { conversationOptions } from "../conversation_options.ts";

const VERSION = "2.1.332";
const ANSWERED = { kind: "answered", stop: {} } as const;
const { frames: OPTIONS, report: REPORT } = conversationOptions();

const OF_NONE = { results: 0, totalUsd: 0, apiDurationMs: 0 };

/** What is told of a turn, in which a subagent has run. */
function turn(before: FramesState, id: string): readonly [FramesState, readonly Frame[]] {
  const called = { type: "tool_use", id, name: "Agent", input: { run_in_background: false } };
  const lines = [
    { type: "user", uuid: `p-${id}`, message: { role: "user", content: id } },
    { type: "api-request", querySource: "repl_main_thread" },
    { type: "assistant", uuid: `a-${id}`, message: { id, model: "m", content: [called] } },
    {
      type: "user",
      message: { content: [{ type: "tool_result", tool_use_id: id, content: "seen" }] },
      toolUseResult: { agentId: "a", agentType: "looker", status: "completed" },
    },
  ].map((each) => line({ sessionId: "s", version: VERSION, ...each }));
  let { state } = awaitMessage(before, { text: id, way: "rendezvous" });
  // Nothing is read of what the subagent has said.
  for (const input of [...lines, { type: "read" }, { type: "deadline", name: "subagent" }]) {
    ({ state } = tellInput(state, { ...input, at: 1 } as Input));
  }
  const told = tellTurnEnd(state, { ending: ANSWERED, at: 1 }, { recorded: true });
  return [told.state, told.frames];
}

/** What is told of a command that the child knows nothing of. */
function command(
  before: FramesState,
  text: string,
  begun?: string,
): readonly [FramesState, readonly Frame[]] {
  const settled = {
    kind: "local",
    text: "",
    version: VERSION,
    ...(begun === undefined ? {} : { carried: { begun } }),
  } as const;
  const message: SettledMessage = { text, settled };
  const { state } = awaitMessage(before, message);
  const told = tellResult(state, { ending: { kind: "settled", message }, at: 1 });
  return [told.state, told.frames];
}

/** How many subagents there have been, and how many of a kind. */
function countsIn(frames: readonly Frame[]) {
  const result = frames.find(({ type }) => type === "result");
  const { spawned, completed, by_type } = result?.["subagent_stats"] as SubagentStats;
  return [spawned, completed, by_type];
}

Deno.test("a turn of a conversation has a cost before any status line has run", () => {
  const totals = (frames: readonly Frame[]) =>
    frames.filter(({ type }) => type === "result").map((frame) => frame["total_cost_usd"]);
  const options = { ...OPTIONS, conversation: true } as const;
  const before = { ...OF_NONE, totalUsd: 0.5 };
  const [, first] = turn(startFrames(options, REPORT), "One");
  const [, later] = turn(startFrames({ ...options, before }, REPORT), "One");
  assertEquals([totals(first), totals(later)], [[0], [0.5]]);
});

Deno.test("subagents are counted for the whole conversation, also by the next child and where no model is asked", () => {
  const [first, one] = turn(startFrames({ ...OPTIONS, conversation: true }, REPORT), "One");
  assertEquals(countsIn(one), [1, 1, { looker: 1 }]);
  const [second, local] = command(first, "/goal");
  assertEquals(countsIn(local), [1, 1, { looker: 1 }]);

  const next = { ...OPTIONS, conversation: true, before: toldBy(second, []) } as const;
  const [third, again] = command(startFrames(next, REPORT), "/goal");
  assertEquals(countsIn(again), [1, 1, { looker: 1 }]);
  const [fourth, two] = turn(third, "Two");
  assertEquals(countsIn(two), [2, 2, { looker: 2 }]);

  const [cleared, reset] = command(fourth, "/clear", "another");
  assertEquals(countsIn(reset), [0, 0, {}]);
  assertEquals(toldBy(cleared, []).subagents?.spawned, 0);
});

Deno.test("however many turns there were, no more is kept than the lines of the last ones", () => {
  let state: FramesState = startFrames({ ...OPTIONS, conversation: true }, REPORT);
  const kept = Array.from({ length: 9 }, (_, index) => {
    const [next, told] = turn(state, `Turn ${index}`);
    state = next;
    const count = index + 1;
    assertEquals(countsIn(told), [count, count, { looker: count }]);
    assertEquals(told.at(-1)?.["result_index"], index);
    return state.kept.entries?.length;
  });
  // Lines of the last turn that has been told may still be written.
  assertEquals(kept.slice(1), kept.slice(1).fill(kept[0]));
  assertEquals(toldBy(state, []).results, 9);

  // A Claude Code may write once more what a compaction leaves as it is.
  const again = (id: string) => ({
    type: "assistant",
    uuid: `a-Turn ${id}`,
    message: { id: `Turn ${id}`, model: "m", content: [{ type: "text", text: id }] },
  });
  const preservedMessages = { uuids: ["a-Turn 0", "a-Turn 8"] };
  const frames = [
    { type: "system", subtype: "compact_boundary", compactMetadata: { preservedMessages } },
    { type: "user", isCompactSummary: true, message: { content: "Much was said" } },
    ...["0", "8", "9"].map(again),
  ].map((each) => line({ sessionId: "s", version: VERSION, ...each })).flatMap((input) => {
    const heard = tellInput(state, { ...input, at: 2 } as Input);
    const said = tellInput(heard.state, { type: "read", at: 2 });
    state = said.state;
    return said.frames;
  });
  const answers = frames.filter(({ type }) => type === "assistant");
  assertEquals(answers.map(({ uuid }) => uuid), ["a-Turn 9"]);
});

Deno.test("how often an answer was stopped is counted for the whole conversation, and told with commands too", () => {
  const stops = (told: readonly Frame[]) =>
    told.find(({ type }) => type === "result")?.["safety_stops"];
  const options = {
    ...OPTIONS,
    conversation: true,
    before: { ...OF_NONE, safetyStops: 2 },
  } as const;
  const [first, one] = turn(startFrames(options, REPORT), "One");
  const [second, local] = command(first, "/goal");
  assertEquals([stops(one), stops(local), toldBy(second, []).safetyStops], [2, 2, 2]);
  const [none] = turn(startFrames({ ...OPTIONS, conversation: true }, REPORT), "One");
  assertEquals("safetyStops" in toldBy(none, []), false);
});

Deno.test("a message that a child has not taken is told once to wait, though it goes to the next one", () => {
  const told = { text: "Hi", uuid: "m", way: "rendezvous" } as const;
  const first = startFrames({ ...OPTIONS, version: VERSION }, REPORT);
  const before = toldBy(first, [told]);
  const next = startFrames({ ...OPTIONS, version: VERSION, before }, REPORT);
  const states = [{ ...told }, { ...told, uuid: "other" }].map((message) =>
    awaitMessage(next, message).frames.map(({ state }) => state)
  );
  assertEquals(states, [[], ["queued"]]);
});
