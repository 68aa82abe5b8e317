import type { Input } from "../../src/session/input.ts";

/** A session's inputs as they were written down from the real Claude Code. */
export function readRecording(name: string): readonly Input[] {
  const url = new URL(`../../fixtures/recordings/${name}.jsonl`, import.meta.url);
  return Deno.readTextFileSync(url).trimEnd().split("\n").map((line) => {
    const input = JSON.parse(line);
    return input.type === "terminal"
      ? { ...input, bytes: Uint8Array.fromBase64(input.bytes) }
      : input;
  });
}
