import { assertEquals } from "@std/assert";
import { partsOf } from "../../src/frames/conversation.ts";
import { fold } from "../../src/frames/advance.ts";
import { saidAtEnd } from "../../src/frames/conclusion.ts";
import { castInputs } from "../cassette/cast_inputs.ts";
import { RECORDED_RUNS, type RecordedRun } from "../cassette/recorded_runs.ts";

/** What was said of a recorded run when it was whole, if it was, and what at its end, if that came by an answer. */
function told({ cassette: { cast } }: RecordedRun) {
  const said: { whole?: unknown; end?: unknown; ending?: string; between: number } = { between: 0 };
  const partsBut = (effects: Parameters<typeof partsOf>[0][]) =>
    effects.flatMap(partsOf).filter(({ type }) => type !== "end");
  fold(cast.header.claude_print.conversation, castInputs(cast), {
    onEffect: (effect) => {
      if (effect.type === "whole") said.whole = partsBut([...saidAtEnd(effect)]);
      if (effect.type === "frame" && said.whole !== undefined) said.between++;
      if (effect.type !== "end") return;
      said.end = partsBut([effect]);
      said.ending = effect.ending.kind;
    },
  });
  return said;
}

/** Endings of runs whose Claude Code has nothing more to do then. */
const AT_REST = ["answered", "failed", "max-turns", "budget"];

const runsOf = (version: string) =>
  RECORDED_RUNS.filter(({ name }) => name.startsWith(`${version}/`));

Deno.test("what is said of a run once its transcript is whole is what is said at its end", () => {
  for (const run of runsOf("2.1.330")) {
    const { name } = run;
    const { whole, end, ending, between } = told(run);
    // One that is ended, or has something on its screen to be seen, is waited for.
    assertEquals(whole, AT_REST.includes(ending ?? "") ? end : undefined, name);
    assertEquals(between, 0, name);
  }
});
