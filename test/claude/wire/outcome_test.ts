import { constants } from "node:os";
import { assertEquals } from "@std/assert";
import { constantsOfVersion, keysOfVersion } from "../../../src/claude/versions/profiles.ts";
import { parseStatusLineLimits } from "../../../src/claude/wire/claude_limits.ts";
import { exitCodeOf, type Outcome } from "../../../src/claude/wire/outcome.ts";
import { STOP_SIGNALS } from "../../../src/claude/wire/stop_signal.ts";
import { pickWireKeys } from "../../../src/claude/wire/json_text.ts";

Deno.test("STOP_SIGNALS has the system's numbers", () => {
  const numbers: Readonly<Record<string, number>> = { ...constants.signals };
  for (const [name, number] of Object.entries(STOP_SIGNALS)) {
    assertEquals(number, numbers[name], name);
  }
  assertEquals(Object.keys(STOP_SIGNALS).length, 15);
});

Deno.test("each outcome has its exit code", () => {
  const message = "It failed";
  const stopped = (signal: keyof typeof STOP_SIGNALS): Outcome => ({
    kind: "interrupted",
    signal,
    message,
  });
  const rows: readonly (readonly [code: number, outcomes: readonly Outcome[]])[] = [
    [0, [{ kind: "answered" }, { kind: "local", text: "" }]],
    [1, [
      { kind: "failed", error: "rate_limit", text: "" },
      { kind: "error_max_turns", turns: 1, message },
      { kind: "error_max_budget_usd", usd: 1, message },
      { kind: "error_max_structured_output_retries", message },
      { kind: "assistant_error", message },
      { kind: "error_during_execution", message },
      { kind: "bad_input", message },
      { kind: "refused", message },
    ]],
    [2, [
      { kind: "internal_error", message },
      { kind: "start_timeout", message },
      { kind: "delivery_timeout", message },
      { kind: "drain_timeout", message },
      { kind: "exit_timeout", message },
    ]],
    [124, [{ kind: "timeout", message }, { kind: "idle_timeout", message }]],
    [129, [stopped("SIGHUP")]],
    [130, [stopped("SIGINT")]],
    [143, [stopped("SIGTERM")]],
    [158, [stopped("SIGPWR")]],
  ];
  for (const [code, outcomes] of rows) {
    for (const outcome of outcomes) assertEquals(exitCodeOf(outcome, false), code, outcome.kind);
  }
  assertEquals(exitCodeOf({ kind: "answered" }, true), 1, "the answer is an API error");
  assertEquals(exitCodeOf(stopped("SIGTERM"), true), 143);
});

Deno.test("parseStatusLineLimits() keeps what is well-formed", () => {
  const context_window = { context_window_size: 200_000, used_percentage: 6 };
  const five_hour = { used_percentage: 42, resets_at: 5 };
  for (
    const [payload, expected] of [
      [
        { cost: {}, context_window, rate_limits: { five_hour: { ...five_hour, more: 1 } } },
        { rate_limits: { five_hour }, context_window },
      ],
      [{}, undefined],
      [{ rate_limits: 3, context_window: [] }, undefined],
      // There is no context before the first answer.
      [{ context_window: { total_input_tokens: 0, current_usage: null } }, {}],
      [{ rate_limits: { a: { used_percentage: "42" }, b: null } }, undefined],
      [
        { rate_limits: { a: { used_percentage: 1, resets_at: "soon" }, b: 2 } },
        { rate_limits: { a: { used_percentage: 1 } } },
      ],
    ] as const
  ) assertEquals<unknown>(parseStatusLineLimits(payload), expected);
});

const version = "2.1.332";

Deno.test("pickWireKeys() keeps the version's keys in its order", () => {
  const fields = { output_tokens: 2, input_tokens: 1, speed: undefined, brand_new: 3 };
  const kept = pickWireKeys("usage", fields, { version });
  assertEquals(Object.entries(kept), [["input_tokens", 1], ["output_tokens", 2]]);
  const extra = pickWireKeys("usage", fields, { version, extra: true });
  assertEquals(extra, { input_tokens: 1, output_tokens: 2, brand_new: 3 });
});

Deno.test("pickWireKeys() adds constants for keys that are not named", () => {
  const constants = constantsOfVersion(version, "init");
  assertEquals(Object.keys(constants).length > 0, true);
  assertEquals(pickWireKeys("init", {}, { version }), constants);
  const named = Object.fromEntries(keysOfVersion(version, "init").map((key) => [key, undefined]));
  assertEquals(pickWireKeys("init", named, { version }), {});
});
