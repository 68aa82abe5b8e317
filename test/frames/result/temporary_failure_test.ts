import { assertEquals } from "@std/assert";
import { apiFailure } from "../../../src/frames/result/api_failure.ts";

const NOW = Date.UTC(2026, 10, 23, 1, 9, 30);

const failure = (facts: Partial<Parameters<typeof apiFailure>[0]>) => {
  const { kind, isTemporary, resetsAt } = apiFailure(
    { error: "rate_limit", text: "", status: 429, ...facts },
    { now: NOW },
  );
  return [kind, isTemporary, resetsAt];
};

Deno.test("a limit that is used up has the time of its reset, as far as Claude Code tells it", () => {
  const text = "You've hit your session limit · resets 2:09am (UTC)";
  const then = Date.UTC(2026, 10, 23, 2, 9) / 1000;
  assertEquals(failure({ text }), ["usage-limit", true, then]);
  assertEquals(failure({ text, resetsAt: 5 }), ["usage-limit", true, 5]);
  assertEquals(failure({ text: "Used up · resets soon" }), ["usage-limit", true, undefined]);
});

Deno.test("what may well succeed later is told from what will not", () => {
  assertEquals(failure({ text: "API Error: 429" }), ["rate-limit", true, undefined]);
  assertEquals(failure({ error: "server_error", status: 529 }), ["overloaded", true, undefined]);
  assertEquals(failure({ error: "of_the_future" }), ["invalid-request", true, undefined]);
  assertEquals(failure({ error: "server_error", status: 500 }), ["server", false, undefined]);
  assertEquals(failure({ error: "authentication_failed", status: 401 }), [
    "login",
    false,
    undefined,
  ]);
});
