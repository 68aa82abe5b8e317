import { assertEquals } from "@std/assert";
import { apiRetryFrame } from "../../../src/frames/single/api_retry_frame.ts";

const CLASSES: readonly (readonly [number | null, string])[] = [
  [null, "unknown"],
  [400, "unknown"],
  [401, "authentication_failed"],
  [403, "authentication_failed"],
  [408, "server_error"],
  [429, "rate_limit"],
  [500, "server_error"],
  [529, "overloaded"],
];

Deno.test("apiRetryFrame() has the fields of claude -p and its class for every status", () => {
  for (const [status, error] of CLASSES) {
    const retry = { attempt: 2, maxRetries: 10, delayMs: 3000, status };
    assertEquals(apiRetryFrame(retry, { sessionId: "s", uuid: "u" }), {
      type: "system",
      subtype: "api_retry",
      attempt: 2,
      max_retries: 10,
      retry_delay_ms: 3000,
      error_status: status,
      error,
      session_id: "s",
      uuid: "u",
    });
  }
});
