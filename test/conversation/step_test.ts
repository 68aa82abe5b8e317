import { assertEquals } from "@std/assert";
import { Step } from "../../src/conversation/step.ts";

Deno.test("a step emits lists of any length", () => {
  const step = new Step<{ readonly at: number }, number>({ at: 0 });
  step.emitAll(new Array(300_000).fill(1));
  assertEquals(step.emitted.length, 300_000);
});

Deno.test("a step changes copies of the states that it is given", () => {
  const before = { at: 0 };
  const step = new Step<{ readonly at: number }, number>(before);
  step.update({ at: 1 });
  const { state } = step;
  step.replace(state);
  step.update({ at: 2 });
  assertEquals([before.at, state.at, step.state.at], [0, 1, 2]);
});
