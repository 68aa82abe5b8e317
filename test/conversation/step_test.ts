import { assertEquals } from "@std/assert";
import { Step } from "../../src/conversation/step.ts";

Deno.test("a step emits and adopts lists of any length", () => {
  const step = new Step<{ readonly at: number }, number>({ at: 0 });
  const fork = step.fork();
  fork.emitAll(new Array(300_000).fill(1));
  step.adopt(fork);
  assertEquals(step.emitted.length, 300_000);
});

Deno.test("a fork and its step change copies of their own", () => {
  const before = { at: 0 };
  const step = new Step<{ readonly at: number }, number>(before);
  step.update({ at: 1 });
  const fork = step.fork();
  fork.update({ at: 2 });
  step.update({ at: 3 });
  assertEquals([before.at, fork.state.at, step.state.at], [0, 2, 3]);
  step.adopt(fork);
  assertEquals(step.state.at, 2);
});
