import { assertEquals } from "@std/assert";
import { SIGNALS } from "../../ffi/processes/signals.ts";
import { exitCodeOf, type Outcome } from "../../src/wire/outcome.ts";
import { STOP_SIGNALS, type StopSignal } from "../../src/wire/stop_signal.ts";

Deno.test("STOP_SIGNALS has the system's own numbers", () => {
  for (const [name, number] of Object.entries(STOP_SIGNALS)) {
    assertEquals(number, SIGNALS[name as StopSignal], name);
  }
});

Deno.test("exitCodeOf: gives each outcome its code", () => {
  const message = "It failed";
  const outcomes: readonly (readonly [outcome: Outcome, apiError: boolean, code: number])[] = [
    [{ kind: "answered" }, false, 0],
    [{ kind: "answered" }, true, 1],
    [{ kind: "failed", error: "rate_limit", text: "" }, false, 1],
    [{ kind: "assistant_error", message }, false, 1],
    [{ kind: "internal_error", message }, false, 2],
    [{ kind: "timeout", message }, false, 124],
    [{ kind: "interrupted", signal: "SIGHUP", message }, false, 129],
    [{ kind: "interrupted", signal: "SIGINT", message }, false, 130],
    [{ kind: "interrupted", signal: "SIGTERM", message }, true, 143],
    [{ kind: "interrupted", signal: "SIGPWR", message }, false, 158],
  ];
  for (const [outcome, apiError, code] of outcomes) {
    assertEquals(exitCodeOf(outcome, apiError), code, outcome.kind);
  }
});
