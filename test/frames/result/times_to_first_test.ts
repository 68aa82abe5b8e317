import { assertEquals } from "@std/assert";
import { timesToFirst } from "../../../src/frames/result/times_to_first.ts";

const times = { askedAt: 100, begunAt: 150, contentAt: 151.4, wholeAt: 200 };

Deno.test("how long the first of an answer took is counted from the prompt", () => {
  assertEquals(timesToFirst(times, { startedAt: 1000, promptAt: 1050 }), {
    ttft_ms: 150,
    ttft_stream_ms: 100,
    time_to_request_ms: 50,
    first_content_frame_ms: 101,
  });
  const { contentAt: _, wholeAt: __, ...begun } = times;
  assertEquals(timesToFirst(begun, { startedAt: 1000, promptAt: 1050 }), {
    ttft_stream_ms: 100,
    time_to_request_ms: 50,
  });
});

Deno.test("nothing is told of what was not heard, or is of another turn, or of no known prompt", () => {
  assertEquals(timesToFirst(undefined, { startedAt: 1000, promptAt: 1050 }), {});
  assertEquals(timesToFirst(times, { startedAt: 1000, promptAt: 1101 }), {});
  assertEquals(timesToFirst(times, { startedAt: 1000, promptAt: NaN }), {});
});
