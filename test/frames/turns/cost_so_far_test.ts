import { assertEquals } from "@std/assert";
import { fold } from "../../../src/frames/advance.ts";
import { type CostState, usageBefore, usageSoFar } from "../../../src/frames/turns/cost_so_far.ts";
import { NO_TURNS, withTurns } from "../../../src/frames/result/turn_totals.ts";
import type { ToldBefore } from "../../../src/frames/telling/frames_options.ts";
import { startFrames } from "../../../src/frames/telling/frames_state.ts";
import { readEntry } from "../../../src/transcript/entry.ts";
import { turnsOf } from "../../../src/transcript/turn/turn.ts";
import { answer, PROMPT } from "../../transcript/lines.ts";
import { conversationOptions } from "../conversation_options.ts";

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
      }, withTurns(NO_TURNS, turnsOf(LINES))) ?? {},
    );
  const whole = "claude-opus-4-8[1m]";
  assertEquals(used({}), ["claude-opus-4-8"]);
  assertEquals(used({ model: whole }), [whole]);
  assertEquals(used({ described: { model: whole } }), [whole], "SessionStart names none");
  assertEquals(used({ options: { ...frames, model: whole } }), [whole]);
  assertEquals(used({ model: "claude-sonnet-5-5[1m]" }), ["claude-opus-4-8"]);
});

const NOTED = {
  type: "cost-state",
  totalCostUSD: 0.5,
  totalAPIDuration: 10,
  modelUsage: { m: { inputTokens: 7, outputTokens: 5, costUSD: 0.5 } },
};

const TURNS = withTurns(
  NO_TURNS,
  turnsOf([PROMPT.entry, answer("Hello", { tokens: 3 }).entry]),
);

/** What the frames know once the lines of earlier runs were read, and the status line has told a cost. */
function known(
  { totalUsd, lines = [NOTED], before }: {
    readonly totalUsd: number;
    readonly lines?: readonly Readonly<Record<string, unknown>>[];
    readonly before?: ToldBefore;
  },
) {
  const { frames, ...options } = conversationOptions({ conversation: true });
  const entries = [PROMPT.entry, ...lines.flatMap((line) => readEntry(line) ?? [])];
  const told = { ...frames, conversation: true as const, ...(before && { before }) };
  const state = fold({ ...options, frames: told }, [
    { at: 0, type: "earlier", entries },
    { at: 1, type: "cost", totalUsd, apiDurationMs: 20, ranAt: 1 },
  ]).frames;
  const { m } = usageSoFar(state, TURNS) ?? {};
  return {
    used: m && [m["inputTokens"], m["outputTokens"], m["costUSD"]],
    before: usageBefore(state),
  };
}

Deno.test("what a resumed session has used goes on as its last run has noted it", () => {
  assertEquals(known({ totalUsd: 0.75 }), {
    used: [7, 8, 0.75],
    before: NOTED.modelUsage,
  });
  // If a child begins anew, it is that of the child.
  assertEquals(known({ totalUsd: 0.25 }), { used: [0, 3, 0.25], before: {} });
});

Deno.test("what a resumed session has used is not known where nobody has noted it", () => {
  assertEquals(known({ totalUsd: 0.75, lines: [] }).used, undefined);
});

Deno.test("what the child before has told counts, whatever the session has noted", () => {
  const { modelUsage } = NOTED;
  const before = { results: 1, totalUsd: 0.5, apiDurationMs: 10, modelUsage };
  assertEquals(known({ totalUsd: 0.75, lines: [], before }), {
    used: [7, 8, 0.75],
    before: NOTED.modelUsage,
  });
});
