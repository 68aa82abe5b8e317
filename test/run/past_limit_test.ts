import { assertEquals, assertRejects } from "@std/assert";
import { StopSignals } from "../../src/driver/stop_signals.ts";
import type { Report } from "../../src/frames/result/report.ts";
import { orderPastLimit, resetOf, waitUntil } from "../../src/run/past_limit.ts";
import { StoppedError } from "../../src/run/stopped_error.ts";
import { PLAIN_ORDER } from "./plain_order.ts";

const NOW = 1_795_400_000_000;
const ID = "11111111-1111-4111-8111-111111111111";

const report = (more: Partial<Report["result"]> = {}): Pick<Report, "result"> => ({
  result: {
    type: "result",
    subtype: "success",
    is_error: true,
    num_turns: 1,
    session_id: ID,
    claude_version: "2.1.330",
    ...more,
  },
});
const reached = (resets_at?: number) =>
  report({
    claude_limits: { reached: resets_at === undefined ? {} : { resets_at } },
  });

Deno.test("resetOf() waits for the end of a limit", () => {
  const longestMs = Infinity;
  const minute = Math.ceil(NOW / 60_000) * 60;
  // An exact time may well be a full minute.
  for (const exact of [minute, minute + 1]) {
    assertEquals(resetOf(reached(exact), { longestMs, now: NOW }), exact * 1000 + 5000);
  }
});

Deno.test("resetOf() waits for nothing else, and not longer than it may", () => {
  const longestMs = 10_000;
  for (
    const other of [
      report(),
      report({ claude_limits: {} }),
      reached(),
      reached(NOW / 1000 + 61),
    ]
  ) assertEquals(resetOf(other, { longestMs, now: NOW }), undefined);
  assertEquals(resetOf(reached(NOW / 1000 + 1), { longestMs, now: NOW }), NOW + 6000);
});

Deno.test("resetOf() waits some time where the limit should be over by now, and not for what is no date", () => {
  const longestMs = Infinity;
  for (const past of [0, -1e300, NOW / 1000 - 1, NOW / 1000]) {
    assertEquals(resetOf(reached(past), { longestMs, now: NOW }), NOW + 5000);
  }
  for (const none of [1e300, NaN, Infinity]) {
    assertEquals(resetOf(reached(none), { longestMs, now: NOW }), undefined);
  }
});

Deno.test("orderPastLimit() goes on with the session, whatever began it, and counts what was paid and asked", () => {
  const order = {
    ...PLAIN_ORDER,
    sessionId: ID,
    forwarded: [`--session-id=${ID}`, "--model=opus"],
    altered: "a character",
  };
  const limited = report({ total_cost_usd: 0.5, duration_api_ms: 7 });
  const next = orderPastLimit(order, { ...limited, requests: 3 });
  assertEquals(next.requestsMade, 3);
  assertEquals(next.resume, ID);
  assertEquals([next.sessionId, next.forkSession, next.altered], [undefined, false, undefined]);
  assertEquals(next.forwarded, ["--model=opus", `--resume=${ID}`]);
  assertEquals(next.before, { results: 0, totalUsd: 0.5, apiDurationMs: 7 });
  assertEquals(next.prompt === order.prompt, false);
  const again = orderPastLimit(next, report({ total_cost_usd: 0.25 }));
  assertEquals(again.forwarded, ["--model=opus", `--resume=${ID}`]);
});

Deno.test("waitUntil() waits for no time that has passed, and ends with a signal", async () => {
  using signals = new StopSignals({ listen: false });
  await waitUntil(Date.now() - 1, { signals, each: () => {} });
  let rounds = 0;
  const error = await assertRejects(
    () =>
      waitUntil(Date.now() + 3_600_000, {
        signals,
        each: () => {
          rounds++;
          signals.raise("SIGTERM");
        },
      }),
    StoppedError,
  );
  assertEquals([rounds, error.message.includes("SIGTERM")], [1, true]);
});
