import { assertEquals } from "@std/assert";
import { tellInput } from "../../src/frames/frames.ts";
import { type FramesOptions, startFrames } from "../../src/frames/telling/frames_state.ts";
import type { Input } from "../../src/session/input.ts";
import { readEntry } from "../../src/transcript/entry.ts";
import type { Frame } from "../../src/wire/frame.ts";
import { conversationOptions } from "./conversation_options.ts";

const { frames: FRAMES, report: REPORT } = conversationOptions();

const entry = (line: object) => readEntry(line) ?? { type: "other" as const, line: { ...line } };

/** The lines of transcripts that are told once some lines have been read. */
function mirroredOf(options: FramesOptions, lines: readonly Input[]): readonly Frame[] {
  const inputs: readonly Input[] = [...lines, { type: "read", at: 1 }, { type: "read", at: 2 }];
  let state = startFrames(options, REPORT);
  return inputs.flatMap((input) => {
    const step = tellInput(state, input);
    state = step.state;
    return step.frames.filter(({ type }) => type === "transcript_mirror");
  });
}

Deno.test("lines are told once, as they stand in their files, to whoever asked for them", () => {
  const line = { type: "user", uuid: "u", message: { role: "user", content: "hi" } };
  const inner = { type: "future", more: 1 };
  const subagent = { agentId: "a1", toolUseId: "t", type: "x", description: "y" };
  const inputs: readonly Input[] = [
    { type: "transcript", at: 1, entry: entry(line) },
    { type: "subagent", at: 1, line: { subagent, entry: entry(inner) } },
  ];
  const options = { ...FRAMES, mirrorPath: "/u/s.jsonl" };
  assertEquals<readonly unknown[]>(mirroredOf(options, inputs), [
    { type: "transcript_mirror", filePath: "/u/s.jsonl", entries: [line] },
    { type: "transcript_mirror", filePath: "/u/s/subagents/agent-a1.jsonl", entries: [inner] },
  ]);
  assertEquals(mirroredOf(options, []), []);
  assertEquals(mirroredOf(FRAMES, inputs), []);
});

Deno.test("lines that wait for those with which a run begins are told once too", () => {
  const version = "2.1.197";
  const prompt = { version, type: "user", uuid: "p", message: { role: "user", content: "hi" } };
  const message = { id: "m", model: "m", role: "assistant", content: [] };
  const answer = { version, type: "assistant", uuid: "a", message };
  const told = mirroredOf({ ...FRAMES, mirrorPath: "/u/s.jsonl" }, [
    { type: "transcript", at: 1, entry: entry(answer) },
    { type: "read", at: 1 },
    { type: "transcript", at: 2, entry: entry(prompt) },
  ]);
  assertEquals<readonly unknown[]>(
    told.map((frame) => frame.type === "transcript_mirror" ? frame.entries : []),
    [[answer], [prompt]],
  );
});
