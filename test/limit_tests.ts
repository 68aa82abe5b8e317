/**
 * Loaded before each file of tests: gives every test a limit, so that one which hangs fails by its name and place, and the
 * others go on. `deno test` 2.9.6 has no flag for that.
 *
 * @module
 */
import { runInThisContext } from "node:vm";

const MINUTE_MS = 60_000;

/**
 * How long a test may take, unless it says so itself. On a machine with eight busy processes the longest with the real Claude
 * Code takes four minutes. Other tests have longer than `until()`, which says after five minutes for what it has waited.
 */
const LIMIT_MS = /\/test\/(?:daily|real)\//u.test(Deno.mainModule) ? 15 * MINUTE_MS : 6 * MINUTE_MS;

/** Completes all forms of a call of `Deno.test()`; nothing else is in scope where this runs. */
function withLimit(test: (definition: Deno.TestDefinition) => void, timeout: number) {
  return (...args: readonly (string | object)[]) => {
    const parts = args.map((part) => {
      if (typeof part === "string") return { name: part };
      return typeof part === "function" ? { name: part.name, fn: part } : part;
    });
    test(Object.assign({ timeout }, ...parts.reverse()));
  };
}

// Deno takes for a failure's place the first caller of Deno.test() in a file, and this code is in none.
const limitedTest = runInThisContext(`(${withLimit})`)(Deno.test, LIMIT_MS);
Object.assign(Deno, { test: Object.assign(limitedTest, Deno.test) });
