import { assertEquals } from "@std/assert";
import type { TranscriptMirrorFrame } from "../../../src/claude/wire/frame.ts";
import { message } from "../control/caller_inputs.ts";
import { exit, IDLE, REACHABLE, READ } from "../control/inputs.ts";
import { answer, entryOf, type Line, notice, prompt } from "./lines.ts";
import { fieldsOf } from "./outlines.ts";
import { ConversationRun, FramesRun, type News, VERSION } from "./runs.ts";

const PATH = "/u/s.jsonl";
const SUBAGENT_PATH = "/u/s/subagents/agent-a1.jsonl";

const line = (line: Line): News => ({ type: "transcript", entry: entryOf(line) });
const theirs = (line: Line): News => ({
  type: "subagent",
  line: { subagent: { agentId: "a1", type: "x", description: "" }, entry: entryOf(line) },
});

/** The mirrored lines since the last time, by their files. */
const mirrored = (run: FramesRun) =>
  run.take().filter((frame): frame is TranscriptMirrorFrame => frame.type === "transcript_mirror")
    .map(({ filePath, entries }) => [filePath, entries]);

Deno.test("lines are mirrored once, by the files they are in", () => {
  const [own, other] = [prompt("hi"), { type: "future", more: 1 }];
  const run = new FramesRun({ mirrorPath: PATH });
  run.give(line(own), theirs(other), READ, READ);
  assertEquals<unknown>(mirrored(run), [[PATH, [own]], [SUBAGENT_PATH, [other]]]);
  const unasked = new FramesRun();
  unasked.give(line(own), theirs(other), READ);
  assertEquals(mirrored(unasked), []);
});

Deno.test("a forked session is mirrored with its copied lines", () => {
  const [before, copied] = ["old", "new"].map((sessionId) =>
    prompt("hi", { version: VERSION, uuid: "u", sessionId })
  ) as readonly Line[];
  const own = { ...copied, uuid: "v", parentUuid: "u" };
  const run = new ConversationRun({
    session: { conversation: true, version: VERSION },
    frames: { mirrorPath: PATH },
  });
  run.give({ type: "earlier", entries: [entryOf(before ?? {})] }, { type: "spawned" });
  run.give(...[
    ...[copied ?? {}, own],
    // A line of another `claude -p`, and one of another interactive Claude Code.
    { ...own, uuid: "w", entrypoint: "sdk-cli" },
    { ...own, uuid: "x", entrypoint: "cli" },
  ].map(line));
  run.give(READ, READ);
  const entries = fieldsOf(run.frames, "transcript_mirror", "entries").flat(2);
  assertEquals<unknown>([entries.slice(0, 2), entries.length], [[copied, own], 3]);
});

Deno.test("lines that wait for the session's beginning are mirrored once", () => {
  const [asked, answered] = [
    prompt("hi", { version: VERSION }),
    answer([], "m", { version: VERSION }),
  ];
  const run = new FramesRun({ mirrorPath: PATH });
  run.give(line(answered), READ);
  assertEquals<unknown>(mirrored(run), [[PATH, [answered]]]);
  run.give(line(asked), READ);
  assertEquals<unknown>(mirrored(run), [[PATH, [asked]]]);
});

Deno.test("lines that wait for a subagent are mirrored at once", () => {
  const run = new FramesRun({ mirrorPath: PATH });
  run.push(prompt(), { ...notice("a1") });
  run.pass("init");
  run.take();
  const end = { ...notice("a1"), timestamp: "2026-01-01T00:00:00.000Z" };
  run.give(theirs(prompt("hi", { isSidechain: true })), line(end), READ);
  assertEquals(run.due("subagent"), 1000);
  assertEquals(mirrored(run).map(([path]) => path), [SUBAGENT_PATH, PATH]);
  run.pass("subagent");
  assertEquals(mirrored(run), []);
});

Deno.test("a subagent's note is mirrored alone, with home's paths", () => {
  const said = prompt("hi");
  const note = { type: "user", agentType: "x", output: "/run/projects/p" };
  const homes = { child: "/run", user: "/home" };
  const run = new FramesRun({ homes, mirrorPath: PATH });
  run.give(
    { type: "subagent-note", agentId: "a1", note },
    theirs(said),
    { type: "subagent-note", agentId: "a1", note: { ...note, finished: true } },
    READ,
  );
  const told = { type: "agent_metadata", agentType: "x", output: "/home/projects/p" };
  assertEquals<unknown>(mirrored(run), [
    [SUBAGENT_PATH, [told]],
    [SUBAGENT_PATH, [said]],
    [SUBAGENT_PATH, [{ ...told, finished: true }]],
  ]);
});

Deno.test("mirrored lines have the caller's message ids", () => {
  const snapshot = (id: string, more = {}) => ({
    type: "file-history-snapshot",
    messageId: id,
    snapshot: { messageId: id },
    isSnapshotUpdate: false,
    ...more,
  });
  const asked = (uuid: string) => prompt("one", { version: VERSION, uuid });
  const update = snapshot("a", { isSnapshotUpdate: true });
  const boundary = (id: string) => ({
    version: VERSION,
    type: "system",
    subtype: "compact_boundary",
    uuid: "b",
    logicalParentUuid: id,
    compactMetadata: { preservedMessages: { uuids: [id, "b"] } },
  });
  const run = new ConversationRun({
    session: { conversation: true },
    frames: { mirrorPath: PATH },
  });
  let read = 0;
  const told = () => {
    const entries = fieldsOf(run.frames, "transcript_mirror", "entries").flat(2);
    return entries.slice(read, read = entries.length);
  };
  const say = (text: string, uuid: string) => run.give(message(text, { uuid }));
  run.give({ type: "spawned" }, IDLE, REACHABLE);
  say("one", "given-1");
  const rows = [
    [snapshot("line-1"), []],
    [asked("line-1"), [snapshot("given-1"), asked("given-1")]],
    [update, [update]],
    [boundary("line-1"), [boundary("given-1")]],
  ] as const;
  for (const [written, entries] of rows) {
    run.give(line(written), READ);
    assertEquals<unknown>(told(), entries);
  }
  assertEquals(fieldsOf(run.frames, "compact_boundary", "logical_parent_uuid"), [["given-1"]]);
  // Nothing tells sooner whose line it is.
  say("two", "given-2");
  run.give(line(snapshot("line-2")), READ);
  assertEquals(told(), []);
  run.give(exit(1));
  assertEquals<unknown>(told(), [snapshot("line-2")]);
});
