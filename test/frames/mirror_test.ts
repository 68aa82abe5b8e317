import { assert, assertEquals } from "@std/assert";
import { castInputs } from "../cassette/cast_inputs.ts";
import { replayCast } from "../../src/cassette/replay/replay_cast.ts";
import { fold } from "../../src/frames/advance.ts";
import { partsOf } from "../../src/frames/conversation.ts";
import { tellInput } from "../../src/frames/tell_input.ts";
import type { FramesOptions } from "../../src/frames/telling/frames_options.ts";
import { startFrames } from "../../src/frames/telling/frames_state.ts";
import type { Input } from "../../src/session/input.ts";
import { lineOf, readEntry } from "../../src/transcript/entry.ts";
import type { Frame, TranscriptMirrorFrame } from "../../src/wire/frame.ts";
import { RECORDED_RUNS } from "../cassette/recorded_runs.ts";
import { conversationOptions } from "./conversation_options.ts";

const { frames: FRAMES, report: REPORT } = conversationOptions();

const isMirror = (frame: Frame): frame is TranscriptMirrorFrame =>
  frame.type === "transcript_mirror";
const entry = (line: object) => readEntry(line) ?? { type: "other" as const, line: { ...line } };

/** The lines of transcripts that are told once some lines have been read. */
function mirroredOf(
  options: FramesOptions,
  lines: readonly Input[],
): readonly TranscriptMirrorFrame[] {
  const inputs: readonly Input[] = [...lines, { type: "read", at: 1 }, { type: "read", at: 2 }];
  let state = startFrames(options, REPORT);
  return inputs.flatMap((input) => {
    const step = tellInput(state, input);
    state = step.state;
    return step.frames.flatMap((frame) => isMirror(frame) ? [frame] : []);
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

Deno.test("a forked session is told whole, with the lines that it has of the one that it comes from", () => {
  const message = { role: "user", content: "hi" };
  const [before, copied] = ["old", "new"].map((sessionId) => ({
    ...{ type: "user", version: "2.1.332", uuid: "u" },
    sessionId,
    message,
  }));
  const own = { ...copied, uuid: "v", parentUuid: "u" };
  const options = conversationOptions({ conversation: true, version: "2.1.332" });
  const told: unknown[] = [];
  fold({ ...options, frames: { ...options.frames, mirrorPath: "/u/s.jsonl" } }, [
    { at: 0, type: "earlier", entries: [entry(before ?? {})] },
    { at: 0, type: "spawned" },
    { at: 1, type: "transcript", entry: entry(copied ?? {}) },
    { at: 1, type: "transcript", entry: entry(own) },
    // What somebody else adds to the session is nobody's here.
    { at: 1, type: "transcript", entry: entry({ ...own, uuid: "w", entrypoint: "sdk-cli" }) },
    { at: 1, type: "transcript", entry: entry({ ...own, uuid: "x", entrypoint: "cli" }) },
    { at: 1, type: "read" },
    { at: 2, type: "read" },
  ], {
    onEffect: (effect) =>
      told.push(
        ...partsOf(effect).flatMap((part) =>
          part.type === "frame" && isMirror(part.frame) ? part.frame.entries : []
        ),
      ),
  });
  assertEquals(told.slice(0, 2), [copied, own]);
  assertEquals(told.length, 3);
});

Deno.test("lines that wait for those with which a run begins are told once too", () => {
  const version = "2.1.332";
  const prompt = { version, type: "user", uuid: "p", message: { role: "user", content: "hi" } };
  const message = { id: "m", model: "m", role: "assistant", content: [] };
  const answer = { version, type: "assistant", uuid: "a", message };
  const told = mirroredOf({ ...FRAMES, mirrorPath: "/u/s.jsonl" }, [
    { type: "transcript", at: 1, entry: entry(answer) },
    { type: "read", at: 1 },
    { type: "transcript", at: 2, entry: entry(prompt) },
  ]);
  assertEquals<readonly unknown[]>(told.map(({ entries }) => entries), [[answer], [prompt]]);
});

Deno.test("what is noted of a subagent is told by itself, as it will be at home, ahead of what it says", () => {
  const said = { type: "user", uuid: "u", message: { role: "user", content: "hi" } };
  const subagent = { agentId: "a1", type: "x", description: "" };
  const homes = { child: "/run", user: "/home" };
  const note = { type: "user", agentType: "x", output: "/run/projects/p" };
  const frames = mirroredOf({ ...FRAMES, homes, mirrorPath: "/u/s.jsonl" }, [
    { type: "subagent-note", at: 1, agentId: "a1", note },
    { type: "subagent", at: 1, line: { subagent, entry: entry(said) } },
    { type: "subagent-note", at: 1, agentId: "a1", note: { ...note, finished: true } },
  ]);
  const told = { type: "agent_metadata", agentType: "x", output: "/home/projects/p" };
  assertEquals<readonly unknown[]>(
    frames.map(({ filePath, entries }) => ({ filePath, entries })),
    [[told], [said], [{ ...told, finished: true }]]
      .map((entries) => ({ filePath: "/u/s/subagents/agent-a1.jsonl", entries })),
  );
});

Deno.test("every line of a recorded run is told once, and those of a turn ahead of its result", () => {
  for (const { name, cassette: { cast } } of RECORDED_RUNS) {
    const { conversation, ...rest } = cast.header.claude_print;
    const frames = { ...conversation.frames, mirrorPath: "/u/s.jsonl" };
    const claude_print = { ...rest, conversation: { ...conversation, frames } };
    const told = replayCast({ ...cast, header: { ...cast.header, claude_print } }).frames;
    const lines = castInputs(cast).flatMap((input) =>
      input.type === "transcript"
        ? [lineOf(input.entry)]
        : input.type === "subagent"
        ? [lineOf(input.line.entry)]
        : []
    );
    assertEquals(
      told.filter(isMirror).flatMap(({ entries }) => entries).length,
      lines.length,
      name,
    );
    const ids = new Set(lines.map(({ uuid }) => uuid));
    const awaited = new Set<unknown>();
    for (const frame of told) {
      if (isMirror(frame)) { for (const { uuid } of frame.entries) ids.delete(uuid); }
      if (frame.type === "assistant" && ids.has(frame.uuid)) awaited.add(frame.uuid);
      if (frame.type === "result") assert(awaited.isDisjointFrom(ids), name);
    }
  }
});

Deno.test("messages have the ids there that the caller gave them, in lines ahead of their own too", () => {
  const snapshot = (id: string, more = {}) => ({
    type: "file-history-snapshot",
    messageId: id,
    snapshot: { messageId: id },
    isSnapshotUpdate: false,
    ...more,
  });
  const version = "2.1.332";
  const prompt = (uuid: string, content: string) => ({
    version,
    type: "user",
    uuid,
    message: { role: "user", content },
  });
  const boundary = {
    version,
    type: "system",
    subtype: "compact_boundary",
    uuid: "b",
    logicalParentUuid: "line-1",
    compactMetadata: { preservedMessages: { uuids: ["line-1", "b"] } },
  };
  const said = (at: number, text: string, uuid?: string): Input => ({
    type: "message",
    at,
    message: { text, way: "rendezvous", ...(uuid === undefined ? {} : { uuid }) },
  });
  const heard = (at: number, ...lines: readonly object[]): readonly Input[] => [
    ...lines.map((each): Input => ({ type: "transcript", at, entry: entry(each) })),
    { type: "read", at },
  ];
  const { session, ...options } = conversationOptions({ conversation: true });
  const told: (readonly unknown[])[] = [];
  const frames: Frame[] = [];
  let read: unknown[] = [];
  fold({ ...options, session, frames: { ...FRAMES, mirrorPath: "/u/s.jsonl" } }, [
    { type: "spawned", at: 0 },
    { type: "status", at: 1, status: "idle" },
    { type: "reachable", at: 1 },
    said(2, "one", "given-1"),
    ...heard(3, snapshot("line-1")),
    ...heard(4, prompt("line-1", "one")),
    ...heard(5, snapshot("a", { isSnapshotUpdate: true })),
    ...heard(6, boundary),
    // Nothing tells sooner whose it is.
    said(7, "two", "given-2"),
    ...heard(8, snapshot("line-2")),
    { type: "exit", at: 9, exit: { kind: "exited", code: 1 } },
  ], {
    onInput: ({ type }) => {
      if (type === "read" || type === "exit") told.push(read = []);
    },
    onEffect: (effect) => {
      for (const part of partsOf(effect)) {
        if (part.type !== "frame") continue;
        if (isMirror(part.frame)) read.push(...part.frame.entries);
        frames.push(part.frame);
      }
    },
  });
  const first = snapshot("given-1");
  assertEquals(told, [
    [],
    [first, prompt("given-1", "one")],
    [snapshot("a", { isSnapshotUpdate: true })],
    [{
      ...boundary,
      logicalParentUuid: "given-1",
      compactMetadata: { preservedMessages: { uuids: ["given-1", "b"] } },
    }],
    [],
    [snapshot("line-2")],
  ]);
  const compacted = frames.find(({ subtype }) => subtype === "compact_boundary");
  assertEquals(compacted?.["logical_parent_uuid"], "given-1");
});
