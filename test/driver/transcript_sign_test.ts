import { assertEquals } from "@std/assert";
import { readTranscriptSign } from "../../src/driver/transcript_sign.ts";

const sign = (value: unknown) => readTranscriptSign(JSON.stringify(value));

Deno.test("readTranscriptSign() tells a prompt from a tool's result", () => {
  assertEquals(sign({ type: "user", uuid: "u", message: { content: "hi" } }), {
    entry: { type: "user", prompt: true },
    uuid: "u",
  });
  const text = [{ type: "text", text: "hi" }];
  assertEquals(sign({ type: "user", message: { content: text } })?.entry.prompt, true);
  const result = [{ type: "tool_result", content: "x" }];
  assertEquals(sign({ type: "user", message: { content: result } })?.entry.prompt, false);
  assertEquals(sign({ type: "assistant", message: { content: text } })?.entry.prompt, false);
});

Deno.test("readTranscriptSign() takes lines of any other shape", () => {
  assertEquals(sign({ type: "system", subtype: "turn_duration" })?.entry, {
    type: "system",
    subtype: "turn_duration",
    prompt: false,
  });
  assertEquals(sign({ type: "user", message: null })?.entry.prompt, false);
  assertEquals(sign({ type: "user", message: { content: [null, 5] } })?.entry.prompt, false);
  for (const value of [null, 5, "x", [], {}, { type: 5 }]) assertEquals(sign(value), undefined);
  assertEquals(readTranscriptSign('{"type":'), undefined);
});
