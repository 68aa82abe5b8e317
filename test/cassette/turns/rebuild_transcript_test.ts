import { assert, assertEquals, assertThrows } from "@std/assert";
import { rebuildTranscript } from "../../../src/cassette/turns/rebuild_transcript.ts";
import type { RecordedTurns } from "../../../src/cassette/turns/recorded_turns.ts";
import { CliError } from "../../../src/cli_error.ts";
import { isPrompt, parseEntry } from "../../../src/transcript/entry.ts";
import { fixtureTurns } from "./fixture_turns.ts";

const SESSION = "11111111-2222-4333-8444-555555555555";

/** What is said in a transcript that is rebuilt up to a turn, and what was said after it. */
function rebuilt(children: readonly RecordedTurns[], at: number) {
  const { text, prompts } = rebuildTranscript(children, { at, sessionId: SESSION });
  const lines = text.split("\n").filter((line) => line !== "");
  const spoken = lines.map(parseEntry).flatMap((entry) => {
    if (entry?.type === "user" && isPrompt(entry)) return [`${entry.message.content}`];
    return entry?.type === "assistant" ? entry.message.content.map(({ text }) => text) : [];
  });
  const sessions = new Set(lines.flatMap((line) => JSON.parse(line).sessionId ?? []));
  return { spoken, after: prompts.map(({ text }) => text), sessions: [...sessions] };
}

for (const version of ["2.1.285", "2.1.332"]) {
  Deno.test(`rebuildTranscript() keeps the turns up to one: ${version}`, () => {
    const talk = [fixtureTurns(`${version}/conversation`)];
    const [one, two, three, four] = [
      "One. [[wait 400]] [[say first]]",
      "Two. [[say second]]",
      "Three. [[say third]]",
      "Four. [[say fourth]]",
    ] as const;
    assertEquals(rebuilt(talk, 0), {
      spoken: [],
      after: [one, two, three, "/login", four],
      sessions: [],
    });
    assertEquals(rebuilt(talk, 1), {
      spoken: [one, "first"],
      after: [two, three, "/login", four],
      sessions: [SESSION],
    });
    const both = [one, "first", two, three, "second", "third"];
    assertEquals([rebuilt(talk, 2).spoken, rebuilt(talk, 2).after], [both, ["/login", four]]);
    // A command that Claude Code answers by itself leaves nothing.
    assertEquals([rebuilt(talk, 3).spoken, rebuilt(talk, 3).after], [both, [four]]);
    assertEquals([rebuilt(talk, 4).spoken, rebuilt(talk, 4).after], [
      [...both, four, "fourth"],
      [],
    ]);
  });

  Deno.test(`rebuildTranscript() begins with what was resumed, whoever went on with it: ${version}`, () => {
    const resumed = fixtureTurns(`${version}/resumed`);
    const before = ["Begin [[say begun]]", "begun"];
    assertEquals(rebuilt([resumed], 0).spoken, before);
    const all = [...before, "And again [[say again]]", "again"];
    assertEquals(rebuilt([resumed], 1).spoken, all);
    // What the second Claude Code had is what it was given.
    const talk = fixtureTurns(`${version}/conversation`);
    const behind = rebuilt([talk, resumed], 4);
    assertEquals([behind.spoken, behind.after], [before, ["And again [[say again]]"]]);
    // As where it was cleared.
    assertEquals(rebuilt([talk, { ...resumed, earlier: [] }], 4).spoken, []);
    assertEquals(rebuilt([talk, resumed], 5).spoken, all);
  });

  Deno.test(`rebuildTranscript() parts no turns that were answered together: ${version}`, () => {
    assertThrows(
      () => rebuilt([fixtureTurns(`${version}/followed`)], 1),
      CliError,
      "Cannot fork at turn 1: turn 2 was answered together with it",
    );
    assertThrows(
      () => rebuilt([fixtureTurns(`${version}/tools`)], 2),
      CliError,
      "Cannot fork at turn 2: the recording has 1 turn",
    );
  });
}

Deno.test("rebuildTranscript() leaves out what says where a fork works, as whom, and what it may do unasked", () => {
  const talk = fixtureTurns("2.1.332/conversation");
  const [first, ...turns] = talk.turns;
  const fields = { sessionId: "other", uuid: "11111111-2222-4333-8444-666666666666" };
  const attached = (type: string) => ({ ...fields, type: "attachment", attachment: { type } });
  const kept = [{ ...fields, type: "ai-title", aiTitle: "kept" }, attached("date")];
  const lines = [
    ...kept,
    { ...fields, type: "worktree-state", worktreeSession: { worktreePath: "/elsewhere" } },
    { ...fields, type: "relocated", relocatedCwd: "/elsewhere" },
    { ...fields, type: "permission-mode", permissionMode: "bypassPermissions" },
    { ...fields, type: "mode", mode: "coordinator" },
    { ...fields, type: "agent-setting", agentSetting: "mighty" },
    { ...fields, type: "isolation-latch", latched: false },
    { ...fields, type: "whatever comes next" },
    ...["command_permissions", "hook_deferred_tool", "session_cron_carry"].map(attached),
  ];
  const entries = lines.flatMap((line) => parseEntry(JSON.stringify(line)) ?? []);
  assertEquals(entries.length, lines.length);
  assert(first !== undefined);
  const withLines = {
    ...talk,
    turns: [{ ...first, entries: [...first.entries, ...entries] }, ...turns],
  };
  const { text } = rebuildTranscript([withLines], { at: 1, sessionId: SESSION });
  const added = text.split("\n").filter((line) => line.includes(fields.uuid)).map((line) =>
    JSON.parse(line)
  );
  assertEquals(added, kept.map((line) => ({ ...line, sessionId: SESSION })));
});

Deno.test("rebuildTranscript() rebuilds the transcripts of subagents, and names files by nothing but their ids", () => {
  const turns = fixtureTurns("2.1.332/subagents");
  const { besides } = rebuildTranscript([turns], { at: 1, sessionId: "new" });
  assertEquals(besides.map(({ path }) => path.replace(/a[\da-f]{16}/u, "ID")), [
    "subagents/agent-ID.meta.json",
    "subagents/agent-ID.jsonl",
    "subagents/agent-ID.meta.json",
    "subagents/agent-ID.jsonl",
  ]);
  const [note, lines] = besides.map(({ text }) => text);
  const { toolUseId, ...rest } = JSON.parse(note ?? "");
  assertEquals([typeof toolUseId, rest], [
    "string",
    { agentType: "general-purpose", description: "Look left" },
  ]);
  const told = (lines ?? "").trimEnd().split("\n").map((line) => JSON.parse(line));
  const answers = told.filter(({ type }) => type === "assistant");
  assertEquals(answers.at(-1).message.content, [{ type: "text", text: "Nothing left." }]);
  assertEquals(new Set(told.map(({ sessionId }) => sessionId)), new Set(["new"]));
  assertEquals(rebuildTranscript([turns], { at: 0, sessionId: "new" }).besides, []);
  const hostile = (agentId: string) => {
    const subagents = (turns.subagents ?? []).map((line) => ({
      ...line,
      subagent: { ...line.subagent, agentId },
    }));
    return rebuildTranscript([{ ...turns, subagents }], { at: 1, sessionId: "new" }).besides.length;
  };
  assertEquals(["a1", "../../x", "", "a/b", "a.b", "a\n", "a".repeat(65)].map(hostile), [
    2,
    ...[0, 0, 0, 0, 0, 0],
  ]);
});
