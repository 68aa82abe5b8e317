import { assertEquals } from "@std/assert";
import { readTranscriptSign } from "../../src/driver/transcript_sign.ts";

const sign = (value: unknown) => readTranscriptSign(JSON.stringify(value));

Deno.test("readTranscriptSign() tells a prompt from a tool's result", () => {
  const line = { type: "user", uuid: "u", message: { content: "hi" } };
  const signed = { entry: { type: "user", prompt: true }, uuid: "u" };
  assertEquals(sign(line), signed);
  assertEquals(sign({ ...line, entrypoint: "cli" }), { ...signed, entrypoint: "cli" });
  const text = [{ type: "text", text: "hi" }];
  assertEquals(sign({ type: "user", message: { content: text } })?.entry.prompt, true);
  const result = [{ type: "tool_result", content: "x" }];
  assertEquals(sign({ type: "user", message: { content: result } })?.entry.prompt, false);
  assertEquals(sign({ type: "assistant", message: { content: text } })?.entry.prompt, false);
});

Deno.test("readTranscriptSign() names the tools a line calls and those it has results of", () => {
  const call = [{ type: "text", text: "x" }, { type: "tool_use", id: "t1" }];
  assertEquals(sign({ type: "assistant", message: { content: call } })?.entry.called, ["t1"]);
  const result = [{ type: "tool_result", tool_use_id: "t1", content: "x" }];
  assertEquals(sign({ type: "user", message: { content: result } })?.entry.returned, ["t1"]);
});

Deno.test("readTranscriptSign() tells the line in the place of a turn that was stopped", () => {
  for (const what of ["", " for tool use"]) {
    const text = `[Request interrupted by user${what}]`;
    const content = [{ type: "text", text }];
    assertEquals(sign({ type: "user", message: { content } })?.entry.end, "interrupted");
    const quoted = [{ type: "text", text: `Why does it say ${text}?` }];
    assertEquals(sign({ type: "user", message: { content: quoted } })?.entry.end, undefined);
  }
});

Deno.test("readTranscriptSign() tells the version with the end of a turn", () => {
  const line = { type: "system", subtype: "turn_duration", version: "2.1.197" };
  assertEquals(sign(line)?.entry.version, "2.1.197");
  assertEquals(sign({ ...line, subtype: "informational" })?.entry.version, undefined);
});

Deno.test("readTranscriptSign() tells the longest limit of shells in the background", () => {
  const limit = (...inputs: readonly unknown[]) => {
    const content = inputs.map((input) => ({ type: "tool_use", id: "t", name: "Bash", input }));
    return sign({ type: "assistant", message: { content } })?.entry.shellLimitMs;
  };
  const input = { run_in_background: true, timeout: 3000 };
  assertEquals(limit(input, { ...input, timeout: 2000 }), 3000);
  assertEquals(limit({ timeout: 3000 }, { run_in_background: true }, null), undefined);
});

Deno.test("readTranscriptSign() takes lines of any other shape", () => {
  assertEquals(sign({ type: "system", subtype: "turn_duration" })?.entry, {
    type: "system",
    subtype: "turn_duration",
    prompt: false,
    end: "completed",
  });
  assertEquals(sign({ type: "user", message: null })?.entry.prompt, false);
  assertEquals(sign({ type: "user", message: { content: [null, 5] } })?.entry.prompt, false);
  for (const value of [null, 5, "x", [], {}, { type: 5 }]) assertEquals(sign(value), undefined);
  assertEquals(readTranscriptSign('{"type":'), undefined);
});
