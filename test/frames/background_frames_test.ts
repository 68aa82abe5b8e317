import { assert, assertEquals } from "@std/assert";
import type { AnyFrame } from "../../src/wire/any_frame.ts";
import type { Frame } from "../../src/wire/frame.ts";
import { readRecording, type Recording } from "../transcript/recording.ts";
import { startTelling } from "./telling.ts";

/**
 * Replays a recording: each Stop hook is heard before the transcript says that its turn is over, or all of them are before
 * it says so of the first.
 */
function replay(
  recording: Recording,
  { early = false, atOnce = false, prices = [] }: {
    readonly early?: boolean;
    /** Whether the end of a turn is read together with all that follows it, up to the end of the next one. */
    readonly atOnce?: boolean;
    /** What the status line says it has cost, before each Stop hook and behind the last one. */
    readonly prices?: readonly number[];
  } = {},
): { readonly frames: readonly Frame[]; readonly results: number } {
  const { tell, push, state, frames } = startTelling({
    cwd: recording.run.cwd,
    servedByAnthropic: false,
  });
  const stops = recording.run.hooks.filter((hook) => hook.hook_event_name === "Stop");
  const lines = new TextDecoder().decode(recording.transcript).trimEnd().split("\n");
  const isSummary = (line: string) => line.includes('"stop_hook_summary"');
  const ends = lines.filter(isSummary).map((line) => Date.parse(JSON.parse(line).timestamp));
  const costs = [...prices];
  let stoppedAt = 0;
  const price = () => {
    const totalUsd = costs.shift();
    if (totalUsd === undefined) return;
    tell({ type: "cost", totalUsd, apiDurationMs: 5, ranAt: stoppedAt });
  };
  price();
  const held: string[] = [];
  for (const line of lines) {
    if (isSummary(line)) push(...held.splice(0));
    for (const stop of isSummary(line) ? stops.splice(0, early ? stops.length : 1) : []) {
      stoppedAt = ends.shift() ?? 0;
      tell({ type: "hook", event: "Stop", payload: { ...stop }, ranAt: stoppedAt });
    }
    const isEnd = line.includes('"turn_duration"');
    if (atOnce && (isEnd || held.length > 0)) held.push(line);
    else push(line);
    if (isEnd) price();
  }
  push(...held);
  // The recording holds no lines of subagents, for which the end of one waits.
  tell({ type: "deadline", name: "subagent" });
  return { frames, results: state().results };
}

/** Fields that only the child's scheduler knows, or that no two runs share. */
const UNLIKE = ["run_id", "task_id", "tool_use_id", "output_file", "uuid", "session_id"];

/** What a frame says, without what cannot agree. */
function comparable(frame: AnyFrame): unknown {
  if (frame.type !== "system" || frame.subtype === "init") {
    const { num_turns, result, result_index, origin, subtype, message } = frame;
    const kind = typeof origin === "object" && origin !== null && "kind" in origin && origin.kind;
    const content = message as { readonly content?: readonly { readonly type: string }[] };
    const blocks = content?.content?.map(({ type }) => type);
    return { type: frame.type, subtype, num_turns, result, result_index, kind, blocks };
  }
  const text = JSON.stringify(frame, (key, value) => {
    if (UNLIKE.includes(key)) return undefined;
    return key === "end_time" ? typeof value : value;
  });
  return JSON.parse(text);
}

const recording = readRecording("2.1.330/background");
const { frames, results } = replay(recording);
const printed = recording.frames.filter((frame): frame is AnyFrame =>
  typeof frame.type === "string" && frame.type !== "rate_limit_event"
);

Deno.test("FrameStream: gives the frames of claude -p around a background shell", () => {
  // The last result is that of the run.
  assertEquals(frames.map(comparable), printed.slice(0, -1).map(comparable));
  assertEquals(results, 1);
  assertEquals(printed.at(-1)?.type, "result");
});

Deno.test("FrameStream: an early result has its place though the next Stop hook is heard before it", () => {
  assertEquals(replay(recording, { early: true }).frames.map(comparable), frames.map(comparable));
});

Deno.test("FrameStream: names a background shell by one id in all its frames", () => {
  const idsOf = (all: readonly AnyFrame[]) =>
    all.filter(({ subtype }) => `${subtype}`.startsWith("task_")).map(({ task_id }) => task_id);
  const ids = idsOf(frames);
  assertEquals(ids.length, idsOf(printed).length);
  assertEquals(new Set(ids).size, 1);
});

Deno.test("FrameStream: leaves the cost of an early result to the last", () => {
  const [first] = frames.filter((frame) => frame.type === "result");
  assert(first?.type === "result");
  const { usage, modelUsage, duration_api_ms } = first;
  const [theirs] = printed.filter((frame) => frame.type === "result");
  const counts = (value: unknown) => Object.keys(value ?? {}).sort();
  assertEquals(counts(usage), counts(theirs?.usage));
  assertEquals([modelUsage, duration_api_ms], [{}, 0], "the child tells it at its end");
  assert(!("total_cost_usd" in first));
});

Deno.test("FrameStream: an early result waits for the status line, but not for ever", () => {
  const inOrder = frames.map(comparable);
  const costsOf = (prices: readonly number[]) => {
    const priced = replay(recording, { prices });
    assertEquals(priced.frames.map(comparable), inOrder);
    return priced.frames.flatMap((frame) =>
      frame.type === "result"
        ? [[
          frame.total_cost_usd,
          Object.values(frame.modelUsage ?? {}).map(({ costUSD }) => costUSD),
        ]]
        : []
    );
  };
  assertEquals(costsOf([0, 0.25]), [[0.25, [0.25]]]);
  // What comes next is printed after it, which has the cost so far then.
  assertEquals(costsOf([0]), [[0, []]]);
  const together = replay(recording, { prices: [0], atOnce: true });
  assertEquals(together.frames.map(comparable), inOrder, "read together");
});

Deno.test("FrameStream: holds results back as long as a subagent runs", () => {
  const { frames, results } = replay(readRecording("2.1.330/subagent"));
  assertEquals(results, 0);
  const kinds = frames.map(({ type, subtype }) =>
    subtype === undefined ? type : `${type}/${subtype}`
  );
  assertEquals(kinds, [
    "system/init",
    "assistant",
    "system/background_tasks_changed",
    "system/task_started",
    "user",
    "assistant",
    "system/task_updated",
    "system/task_notification",
    "system/background_tasks_changed",
    "system/init",
    "assistant",
  ]);
});
