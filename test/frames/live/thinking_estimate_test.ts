import { assertEquals } from "@std/assert";
import { thinkingEstimate } from "../../../src/frames/live/thinking_estimate.ts";

const delta = (delta: Readonly<Record<string, unknown>>) => ({
  type: "content_block_delta" as const,
  index: 0,
  delta,
});

Deno.test("thoughts are counted by the API's own count, else four characters a token", () => {
  assertEquals(thinkingEstimate(0, delta({ type: "thinking_delta", thinking: "four or so" })), {
    estimate: 3,
    said: { estimated_tokens: 3, estimated_tokens_delta: 3 },
  });
  assertEquals(
    thinkingEstimate(3, delta({ type: "thinking_delta", thinking: "", estimated_tokens: 50 })),
    { estimate: 53, said: { estimated_tokens: 53, estimated_tokens_delta: 50 } },
  );
  assertEquals(thinkingEstimate(3, delta({ type: "thinking_delta", thinking: "" })), {
    estimate: 3,
  });
});

Deno.test("a signature tells of thoughts that were not shown, and none where there were no thoughts", () => {
  const signed = (length: number) =>
    delta({ type: "signature_delta", signature: "x".repeat(length) });
  assertEquals(thinkingEstimate(5, signed(40)), {
    estimate: 8,
    said: { estimated_tokens: 8, estimated_tokens_delta: 3 },
  });
  assertEquals(thinkingEstimate(8, signed(40)), { estimate: 8 });
  assertEquals(thinkingEstimate(0, signed(4000)), { estimate: 0 });
});

Deno.test("each block is counted anew, and nothing else is counted", () => {
  assertEquals(thinkingEstimate(9, { type: "content_block_start", index: 1 }), { estimate: 0 });
  assertEquals(thinkingEstimate(9, delta({ type: "text_delta", text: "text" })), { estimate: 9 });
  for (const odd of [undefined, {}, { type: "thinking_delta", thinking: 5 }]) {
    const event = { type: "content_block_delta" as const, ...odd && { delta: odd } };
    assertEquals(thinkingEstimate(9, event), { estimate: 9 });
  }
});
