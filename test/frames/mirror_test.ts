import { assertEquals } from "@std/assert";
import { chained, startFrames } from "../../src/frames/frames_state.ts";
import { mirrored } from "../../src/frames/mirror.ts";
import { readEntry } from "../../src/transcript/entry.ts";
import { conversationOptions } from "./conversation_options.ts";

const { frames: FRAMES, report: REPORT } = conversationOptions();

const entry = (line: object) => readEntry(line) ?? { type: "other" as const, line: { ...line } };

Deno.test("mirrored() gives lines as they stand in their files", () => {
  const line = { type: "user", uuid: "u", message: { role: "user", content: "hi" } };
  const inner = { type: "future", more: 1 };
  const state = startFrames({ ...FRAMES, mirrorPath: "/u/s.jsonl" }, REPORT);
  const subagent = { agentId: "a1", toolUseId: "t", type: "x", description: "y" };
  const next = {
    ...state,
    own: chained(state.own, entry(line)),
    subagents: chained(state.subagents, { subagent, entry: entry(inner) }),
  };
  assertEquals(mirrored(next), [
    { type: "transcript_mirror", filePath: "/u/s.jsonl", entries: [line] },
    { type: "transcript_mirror", filePath: "/u/s/subagents/agent-a1.jsonl", entries: [inner] },
  ]);
  assertEquals(mirrored(state), []);
  assertEquals(mirrored({ ...next, options: FRAMES }), []);
});
