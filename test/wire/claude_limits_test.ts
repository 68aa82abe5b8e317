import { assertEquals } from "@std/assert";
import { limitsOfStatusLine } from "../../src/wire/claude_limits.ts";

Deno.test("limitsOfStatusLine() takes what the status line of Claude Code tells of limits", () => {
  const context_window = { context_window_size: 200_000, used_percentage: 6 };
  assertEquals(
    limitsOfStatusLine({
      cost: {},
      context_window,
      rate_limits: { five_hour: { used_percentage: 42, resets_at: 5, more: 1 } },
    }),
    { rate_limits: { five_hour: { used_percentage: 42, resets_at: 5 } }, context_window },
  );
});

Deno.test("limitsOfStatusLine() leaves out what is not what it should be, and a context before the first answer", () => {
  for (
    const [payload, expected] of [
      [{}, undefined],
      [{ rate_limits: 3, context_window: [] }, undefined],
      [{ context_window: { total_input_tokens: 0, current_usage: null } }, {}],
      [{ rate_limits: { a: { used_percentage: "42" }, b: null } }, undefined],
      [{ rate_limits: { a: { used_percentage: 1, resets_at: "soon" }, b: 2 } }, {
        rate_limits: { a: { used_percentage: 1 } },
      }],
    ] as const
  ) assertEquals(limitsOfStatusLine(payload), expected);
});
