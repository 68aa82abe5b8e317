import { readCassette, RECORDED_RUNS } from "./recorded_runs.ts";
import { readTurns, type RecordedTurns } from "../../../src/recording/cassette/recorded_turns.ts";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { type Entry, isPrompt, parseEntry } from "../../../src/claude/transcript/entry.ts";
import { rebuildTranscript } from "../../../src/recording/cassette/rebuild_transcript.ts";
import { CliError } from "../../../src/cli_error.ts";
import { framesOn } from "../../../src/recording/cassette/cassette_format.ts";
import {
  compareConversations,
  conversationSteps,
  type RecordedStep,
  stepsOnTape,
} from "../../../src/recording/cassette/compare_conversations.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import type { ResultFrame } from "../../../src/claude/wire/result_frame.ts";
import { entryOf } from "../../conversation/output/lines.ts";
import { read, user, wrote } from "./program/played_tape.ts";

const RUNS = new URL("../../../fixtures/recordings/runs/", import.meta.url).pathname;

/** The turns of a recorded run, such as `2.1.332/conversation`. */
function fixtureTurns(name: string): RecordedTurns {
  return readTurns(readCassette(`${RUNS}${name}`).cast);
}

/** The prompts of each turn, and the type of its last transcript line. */
function outline(name: string) {
  return fixtureTurns(name).turns.map(({ prompts, entries, result }) => [
    prompts.map(({ text }) => text),
    entries.length > 0,
    result["result"],
  ]);
}

for (const version of ["2.1.285", "2.1.332"]) {
  Deno.test(`${version}: each turn has its prompts, lines and result`, () => {
    assertEquals(outline(`${version}/conversation`), [
      [["One. [[wait 400]] [[say first]]"], true, "first"],
      [["Two. [[say second]]", "Three. [[say third]]"], true, "third"],
      [["/login"], false, "/login isn't available in this environment."],
      [["Four. [[say fourth]]"], true, "fourth"],
    ]);
    // Claude Code began the turn by itself.
    const [first, second] = outline(`${version}/background`);
    assertEquals([first?.[2], second], ["started", [[], true, "done"]]);
    const { earlier, turns } = fixtureTurns(`${version}/resumed`);
    assertEquals([earlier.length > 0, turns.length], [true, 1]);
  });

  Deno.test(`${version}: a recording that stops keeps unanswered prompts`, () => {
    const { header, events } = readCassette(`${RUNS}${version}/conversation`).cast;
    const last = events.findLastIndex(({ code, data }) =>
      code === "h" && data.startsWith('{"type":"message"')
    );
    const { turns, unanswered } = readTurns({ header, events: events.slice(0, last + 1) });
    assertEquals(turns.length, 3);
    assertEquals(unanswered.map(({ text }) => text), ["Four. [[say fourth]]"]);
  });
}

Deno.test("a prompt before the previous result belongs to its turn", () => {
  const { header, events } = readCassette(`${RUNS}2.1.332/conversation`).cast;
  const lines = (pattern: RegExp) =>
    events.filter(({ code, data }) =>
      code === "h" && data.startsWith('{"type":"transcript"') && pattern.test(data)
    );
  const [answer] = lines(/"text":"first"/u);
  const [prompt] = lines(/"role":"user","content":"Two\. /u);
  if (answer === undefined || prompt === undefined) throw new Error("It says something else");
  const early = events.filter((event) => event !== prompt)
    .flatMap((event) => event === answer ? [answer, { ...prompt, at: answer.at }] : [event]);
  const { turns } = readTurns({ header, events: early });
  assertEquals(turns.slice(0, 2).map(({ entries }) => entries.filter(isPrompt).length), [1, 2]);
});

const SESSION = "11111111-2222-4333-8444-555555555555";

/** The prompts and answers in a rebuilt transcript, and the prompts after it. */
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
  Deno.test(`${version}: a fork keeps the turns before it`, () => {
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
    const silent = talk.map((each) => ({
      ...each,
      turns: each.turns.map((turn) => ({ ...turn, entries: [] })),
    }));
    assertEquals(rebuilt(silent, 0).spoken, []);
    const both = [one, "first", two, three, "second", "third"];
    assertEquals([rebuilt(talk, 2).spoken, rebuilt(talk, 2).after], [both, ["/login", four]]);
    // A local command leaves no lines.
    assertEquals([rebuilt(talk, 3).spoken, rebuilt(talk, 3).after], [both, [four]]);
    assertEquals([rebuilt(talk, 4).spoken, rebuilt(talk, 4).after], [
      [...both, four, "fourth"],
      [],
    ]);
  });

  Deno.test(`${version}: a fork begins with the resumed transcript`, () => {
    const resumed = fixtureTurns(`${version}/resumed`);
    const before = ["Begin [[say begun]]", "begun"];
    assertEquals(rebuilt([resumed], 0).spoken, before);
    const all = [...before, "And again [[say again]]", "again"];
    assertEquals(rebuilt([resumed], 1).spoken, all);
    // The second child began with the lines of the first one.
    const talk = fixtureTurns(`${version}/conversation`);
    const behind = rebuilt([talk, resumed], 4);
    assertEquals([behind.spoken, behind.after], [before, ["And again [[say again]]"]]);
    // As after /clear.
    assertEquals(rebuilt([talk, { ...resumed, earlier: [] }], 4).spoken, []);
    assertEquals(rebuilt([talk, resumed], 5).spoken, all);
  });

  Deno.test(`${version}: turns answered together cannot be parted`, () => {
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

Deno.test("a fork takes no rights or places over", () => {
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

Deno.test("a fork has its subagents' transcripts", () => {
  const turns = fixtureTurns("2.1.332/subagents");
  const { subagentFiles: besides } = rebuildTranscript([turns], { at: 1, sessionId: "new" });
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
  assertEquals(rebuildTranscript([turns], { at: 0, sessionId: "new" }).subagentFiles, []);
  const hostile = (agentId: string) => {
    const subagents = (turns.subagents ?? []).map((line) => ({
      ...line,
      subagent: { ...line.subagent, agentId },
    }));
    return rebuildTranscript([{ ...turns, subagents }], { at: 1, sessionId: "new" }).subagentFiles
      .length;
  };
  assertEquals(["a1", "../../x", "", "a/b", "a.b", "a\n", "a".repeat(65)].map(hostile), [
    2,
    ...[0, 0, 0, 0, 0, 0],
  ]);
});

const stepsOf = (name: string) => conversationSteps([fixtureTurns(name)]);

Deno.test("runs of two versions compare as equal", () => {
  for (const run of ["answer", "conversation", "resumed", "stopped", "timeout", "tools"]) {
    const [one, other] = [stepsOf(`2.1.285/${run}`), stepsOf(`2.1.332/${run}`)];
    const { parting, models, common } = compareConversations(one, other);
    assertEquals([parting, models], [undefined, [["claude-opus-5-5"], ["claude-opus-5-5"]]], run);
    assertEquals(common.steps, one.length, run);
  }
});

Deno.test("a comparison names the first different step", () => {
  const steps: readonly RecordedStep[] = [
    { turn: 1, content: { kind: "prompt", content: "Hi" } },
    { turn: 1, content: { kind: "answer", text: "Hello from /tmp/one" }, model: "a" },
    { turn: 2, content: { kind: "prompt", content: "Look" } },
    { turn: 2, content: { kind: "call", tool: "Bash", input: { command: "ls", timeout: 1 } } },
  ];
  const compared = (...more: readonly RecordedStep["content"][]) =>
    compareConversations(steps, [
      ...steps.slice(0, 3),
      ...more.map((content) => ({ turn: 2, content })),
    ]);
  // The name of a temporary folder differs in each run.
  const elsewhere = steps.with(1, {
    turn: 1,
    content: { kind: "answer", text: "Hello from /tmp/two" },
    model: "b",
  });
  assertEquals(compareConversations(steps, elsewhere), {
    common: { turns: 2, steps: 4 },
    turns: [2, 2],
    models: [["a"], ["b"]],
  });
  const call = { kind: "call", tool: "Bash", input: { command: "ls -l", timeout: 1 } } as const;
  assertEquals(compared(call).parting, {
    turn: 2,
    one: steps[3]?.content ?? call,
    other: call,
    difference: { pointer: "/input/command", one: '"ls"', other: '"ls -l"' },
  });
  const over = compared();
  assertEquals(over.common, { turns: 1, steps: 3 });
  assertEquals([over.parting?.one?.kind, over.parting?.other], ["call", undefined]);
  const nothing = compareConversations([], steps);
  assertEquals([nothing.common, nothing.turns], [{ turns: 0, steps: 0 }, [0, 2]]);
});

Deno.test("tape and cast hold the same conversation", () => {
  for (const { name, cassette: { tape, cast } } of RECORDED_RUNS) {
    if (!name.startsWith("2.1.332/")) continue;
    // Neither the prompt of a run nor the transcript before it is on a tape.
    const spoken = (steps: readonly RecordedStep[]) =>
      steps.map(({ content }) => content).filter(({ kind }) => kind !== "prompt");
    const recorded = readTurns(cast);
    const results = framesOn(tape).filter(({ frame }) => frame.type === "result");
    // The prompt was never pasted, because no input box appeared.
    const unanswered = name.endsWith("/dialog-first-start") ? ["Hi [[say never]]"] : [];
    assertEquals(
      [recorded.turns.length, recorded.unanswered.map(({ text }) => text)],
      [results.length, unanswered],
      name,
    );
    const ofCast = spoken(conversationSteps([{ ...recorded, earlier: [] }]));
    assertEquals(spoken(stepsOnTape(tape)), ofCast, name);
  }
  const { tape } = readCassette(`${RUNS}2.1.332/conversation`);
  const prompts = stepsOnTape(tape).filter(({ content }) => content.kind === "prompt");
  assertEquals(prompts.map(({ turn }) => turn), [1, 2, 3, 4, 5]);
});

Deno.test("a tape without a prompt begins with turn 1", () => {
  const { tape } = readCassette(`${RUNS}2.1.332/tools`);
  assertEquals(new Set(stepsOnTape(tape).map(({ turn }) => turn)), new Set([1]));
  assertEquals(stepsOnTape([]), []);
  const content = [{ type: "text", text: "Look" }, { type: "image" }];
  const [prompt] = stepsOnTape([wrote(user(content))]);
  assertEquals(prompt?.content, { kind: "prompt", content });
});

const SAID_BY_ITSELF = { kind: "local", text: "", version: "2.1.330" } as const;

Deno.test("a command compares as it was typed", () => {
  const [greeting] = stepsOf("2.1.332/command");
  assertEquals(greeting?.content, { kind: "prompt", content: "/greet Ada" });
  const typed = (content: string) => entryOf({ type: "user", message: { role: "user", content } });
  const said = (text: string, model: string) =>
    entryOf({
      type: "assistant",
      message: { id: "m", role: "assistant", model, content: [{ type: "text", text }] },
    });
  const result = { type: "result", subtype: "success", result: "" } as ResultFrame;
  const turn = (prompt: string, entries: readonly Entry[]) => ({
    prompts: [{ text: prompt, settled: SAID_BY_ITSELF }],
    entries,
    result,
  });
  const steps = (clear: readonly Entry[], room: readonly Entry[]) =>
    conversationSteps([{
      earlier: [],
      turns: [turn("/clear", clear), turn("Two", [...room, typed("Two"), said("two", "opus")])],
      unanswered: [],
    }]);
  const clear = typed(
    "<command-name>/clear</command-name>\n  <command-message>clear</command-message>\n" +
      "  <command-args></command-args>",
  );
  const newest = steps([], []);
  assertEquals(steps([typed("/clear")], []).map(({ turn }) => turn), [1, 1, 1]);
  assertEquals(newest.map(({ turn }) => turn), [1, 1, 2, 2]);
  // 2.1.197 adds an entry before the next prompt, and both versions may print that there is no content.
  const older = steps([clear, said("(no content)", "<synthetic>")], [
    said("No response requested.", "<synthetic>"),
  ]);
  assertEquals(compareConversations(newest, older).parting, undefined);
  const onTape = stepsOnTape([
    wrote(user("/clear  ")),
    read({ ...result }),
    wrote(user("Two")),
    read({
      type: "assistant",
      message: { id: "m", model: "opus", content: [{ type: "text", text: "two" }] },
    }),
    read({ ...result, result: "two" }),
  ]);
  assertEquals(compareConversations(newest, onTape).parting, undefined);
});

Deno.test("steps of every kind come from lines", () => {
  const answered = (...content: readonly JsonObject[]) =>
    entryOf({ type: "assistant", message: { id: "m", role: "assistant", model: "m", content } });
  const wrote = (content: unknown) => entryOf({ type: "user", message: { role: "user", content } });
  const returned = { type: "tool_result", tool_use_id: "t", content: "a.ts" };
  const entries = [
    wrote("Look"),
    answered({ type: "thinking", thinking: "Hm" }),
    answered({ type: "tool_use", id: "t", name: "Glob", input: { pattern: "*" } }),
    wrote([returned, { ...returned, is_error: true }, { type: "text", text: "a remark" }]),
    entryOf({ type: "system", subtype: "compact_boundary" }),
    answered({ type: "text", text: "It" }, { type: "server_tool_use" }),
    wrote([{ type: "text", text: "[Request interrupted by user]" }]),
  ];
  const result = { type: "result", subtype: "success", result: "" } as ResultFrame;
  const turns = [{ prompts: [], entries, result }];
  const steps = conversationSteps([{ earlier: [], turns, unanswered: [] }]);
  assertEquals(steps.map(({ content }) => content), [
    { kind: "prompt", content: "Look" },
    { kind: "thinking", text: "Hm" },
    { kind: "call", tool: "Glob", input: { pattern: "*" } },
    { kind: "result", content: "a.ts", failed: false },
    { kind: "result", content: "a.ts", failed: true },
    { kind: "compaction" },
    { kind: "answer", text: "It" },
    { kind: "block", type: "server_tool_use" },
    { kind: "interrupt" },
  ]);
});
