import { playedInput } from "../../src/cassette/recorded_input.ts";
import { answer, PROMPT } from "../transcript/lines.ts";
import type { Input } from "../../src/session/input.ts";

/** A session's inputs as they were written down from the real Claude Code. */
export function readRecording(name: string): readonly Input[] {
  const url = new URL(`../../fixtures/recordings/${name}.jsonl`, import.meta.url);
  return Deno.readTextFileSync(url).trimEnd().split("\n").map((line): Input => {
    const input = JSON.parse(line);
    return input.type === "terminal"
      ? { ...input, bytes: Uint8Array.fromBase64(input.bytes) }
      : playedInput(input, input.at);
  }).flatMap(recordedAfterStop);
}

/** The recorded runs ended their child at Stop, before it had written its turn down and become idle again. */
function recordedAfterStop(input: Input): readonly Input[] {
  if (input.type !== "hook" || input.event !== "Stop") return [input];
  const { at } = input;
  const text = `${input.payload["last_assistant_message"]}`;
  return [
    input,
    { at, ...PROMPT },
    { at, ...answer(text) },
    { at, type: "status", status: "idle" },
  ];
}
