import { assertEquals } from "@std/assert";
import { catchUncaughtErrors } from "../../src/server/uncaught_errors.ts";

Deno.test("uncaught errors are reported and end nothing", async () => {
  const mistakes: string[] = [];
  const { promise: told, resolve } = Promise.withResolvers<void>();
  using _ = catchUncaughtErrors((error) => {
    mistakes.push(error instanceof Error ? error.message : "");
    if (mistakes.length === 3) resolve();
  });
  Promise.reject(new Error("in a promise"));
  queueMicrotask(() => {
    throw new Error("in a microtask");
  });
  setTimeout(() => {
    throw new Error("in a timer");
  });
  await told;
  assertEquals(mistakes.toSorted(), ["in a microtask", "in a promise", "in a timer"]);
});
