import { assert, assertEquals } from "@std/assert";
import { subagentStats } from "../../../src/frames/result/subagent_stats.ts";
import { NO_TURNS, withTurns } from "../../../src/frames/result/turn_totals.ts";
import { turnsOf } from "../../../src/transcript/turn/turn.ts";
import { line } from "../../transcript/lines.ts";
import { readRecording, recordingNames } from "../../transcript/recording.ts";

Deno.test("turns come to the same, however many of them are taken at once", () => {
  const counts = recordingNames().map((name) => {
    const turns = turnsOf(readRecording(name).entries);
    const all = withTurns(NO_TURNS, turns);
    const oneByOne = turns.reduce((totals, turn) => withTurns(totals, [turn]), NO_TURNS);
    assertEquals(oneByOne, all, name);
    return [all.count, subagentStats(all.subagents).spawned];
  });
  assert(counts.some(([count = 0, spawned]) => count > 1 && spawned === 1));
});

Deno.test("the refusals of all turns are counted", () => {
  const asked = (uuid: string) => line({ type: "user", uuid, message: { content: "Go" } }).entry;
  const answer = (id: string, stop_reason: string) => {
    const content = [{ type: "text", text: id }];
    return line({ type: "assistant", message: { id, model: "m", content, stop_reason } }).entry;
  };
  const turns = turnsOf(
    [asked("1"), answer("a", "refusal"), asked("2"), answer("b", "end_turn")],
    { begins: new Set(["2"]) },
  );
  assertEquals(turns.length, 2);
  assertEquals(withTurns(NO_TURNS, turns).refusals, 1);
});

Deno.test("how subagents in the background end is asked of whoever knows, whenever that is", () => {
  const call = { type: "tool_use", id: "t", name: "Agent", input: {} };
  const given = { type: "tool_result", tool_use_id: "t", content: "launched" };
  const { subagents } = withTurns(
    NO_TURNS,
    turnsOf([
      line({ type: "user", uuid: "p", message: { content: "Go" } }).entry,
      line({ type: "assistant", message: { id: "a", model: "m", content: [call] } }).entry,
      line({
        type: "user",
        message: { content: [given] },
        toolUseResult: { agentId: "one", isAsync: true },
      }).entry,
    ]),
  );
  const counts = (...ends: readonly (readonly [string, string])[]) => {
    const { spawned, completed, failed, by_type } = subagentStats(subagents, {
      ends: new Map(ends),
      before: subagentStats(subagents, { ends: new Map([["one", "completed"]]) }),
    });
    return [spawned, completed, failed, by_type];
  };
  assertEquals(counts(), [2, 1, 0, { "general-purpose": 2 }]);
  assertEquals(counts(["one", "completed"]), [2, 2, 0, { "general-purpose": 2 }]);
  assertEquals(counts(["one", "failed"], ["two", "failed"]), [2, 1, 1, {
    "general-purpose": 2,
  }]);
});
