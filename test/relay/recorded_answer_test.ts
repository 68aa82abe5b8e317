import { assertEquals } from "@std/assert";
import { recorderOf } from "../../src/relay/recorded_answer.ts";
import { createSlices } from "../../src/relay/sliced_work.ts";

Deno.test("an answer that does not end is not held without end: what has become too large is told, and not kept", () => {
  const happened: string[] = [];
  const recorder = (most: number) =>
    recorderOf({
      request: { method: "POST", path: "/v1/messages", body: new Uint8Array() },
      conversation: undefined,
    }, {
      redact: (text) => text,
      openFrom: () => Infinity,
      slices: createSlices(),
      keep: ({ response: { chunks } }) => {
        happened.push(`kept ${chunks.length}`);
        return [];
      },
      lose: ({ message }) => void happened.push(message),
      end: () => void happened.push("end"),
      most,
    });
  for (const most of [6, 5]) {
    const { onHead, onBytes, onEnd } = recorder(most);
    onHead?.({ status: 200, headers: new Headers() });
    for (let piece = 0; piece < 3; piece++) onBytes?.(new Uint8Array(2));
    onEnd?.({ whole: true });
  }
  assertEquals(happened, [
    "kept 3",
    "end",
    "Cannot write the exchange: its answer has more than 5 bytes",
    "end",
  ]);
});

Deno.test("whatever fails once an answer is over is told, and the recorder comes to its end", () => {
  const happened: string[] = [];
  const { onHead, onBytes, onEnd } = recorderOf({
    request: { method: "POST", path: "/v1/messages", body: new Uint8Array() },
    conversation: undefined,
  }, {
    redact: () => {
      throw new Error("no such secret");
    },
    openFrom: () => Infinity,
    slices: createSlices(),
    keep: () => {
      happened.push("kept");
      return [];
    },
    lose: ({ message }) => void happened.push(message),
    end: () => void happened.push("end"),
  });
  onHead?.({ status: 200, headers: new Headers() });
  onBytes?.(new TextEncoder().encode("an answer"));
  onEnd?.({ whole: true });
  assertEquals(happened, ["Cannot write the exchange: no such secret", "end"]);
});
