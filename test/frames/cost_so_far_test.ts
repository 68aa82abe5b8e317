import { assertEquals } from "@std/assert";
import { type CostState, usageSoFar } from "../../src/frames/cost_so_far.ts";
import { startFrames } from "../../src/frames/telling/frames_state.ts";
import { readEntry } from "../../src/transcript/entry.ts";
import { turnsOf } from "../../src/transcript/turn.ts";
import { conversationOptions } from "./conversation_options.ts";

const LINES = [
  { type: "user", uuid: "p", message: { content: "Hi" } },
  { type: "assistant", message: { id: "a", model: "claude-opus-4-8", content: [] } },
].map((fields) => readEntry(fields)).filter((entry) => entry !== undefined);

Deno.test("what a model has used is told under its whole name, whoever has named it", () => {
  const { frames, report } = conversationOptions();
  const used = (more: Partial<CostState>) =>
    Object.keys(
      usageSoFar({
        ...startFrames(frames, report),
        cost: { totalUsd: 1, apiDurationMs: 1 },
        ...more,
      }, turnsOf(LINES)) ?? {},
    );
  const whole = "claude-opus-4-8[1m]";
  assertEquals(used({}), ["claude-opus-4-8"]);
  assertEquals(used({ model: whole }), [whole]);
  assertEquals(used({ described: { model: whole } }), [whole], "SessionStart names none");
  assertEquals(used({ options: { ...frames, model: whole } }), [whole]);
  assertEquals(used({ model: "claude-sonnet-5-5[1m]" }), ["claude-opus-4-8"]);
});
