import { assertEquals } from "@std/assert";
import { surviveMistakes } from "../../src/serve/survive_mistakes.ts";

Deno.test("what nobody catches is told, and ends no program", async () => {
  const mistakes: unknown[] = [];
  const { promise: told, resolve } = Promise.withResolvers<void>();
  using _ = surviveMistakes((error) => {
    mistakes.push(error);
    if (mistakes.length === 3) resolve();
  });
  Promise.reject("in a promise");
  queueMicrotask(() => {
    throw "in a microtask";
  });
  setTimeout(() => {
    throw "in a timer";
  });
  await told;
  assertEquals(mistakes.toSorted(), ["in a microtask", "in a promise", "in a timer"]);
});
