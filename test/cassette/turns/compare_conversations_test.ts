import { assertEquals } from "@std/assert";
import { readCassette } from "../read_cassette.ts";
import { framesOn } from "../../../src/cassette/cassette.ts";
import { compareConversations } from "../../../src/cassette/turns/compare_conversations.ts";
import {
  conversationSteps,
  type RecordedStep,
  stepsOnTape,
} from "../../../src/cassette/turns/conversation_steps.ts";
import { recordedTurns } from "../../../src/cassette/turns/recorded_turns.ts";
import { type Entry, readEntry } from "../../../src/transcript/entry.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import type { ResultFrame } from "../../../src/wire/result_frame.ts";
import { read, user, wrote } from "../program/played_tape.ts";
import { RECORDED_RUNS } from "../recorded_runs.ts";
import { fixtureTurns } from "./fixture_turns.ts";

const stepsOf = (name: string) => conversationSteps([fixtureTurns(name)]);

Deno.test("compareConversations() finds the same in a run of two versions", () => {
  for (const run of ["answer", "conversation", "resumed", "stopped", "timeout", "tools"]) {
    const [one, other] = [stepsOf(`2.1.285/${run}`), stepsOf(`2.1.332/${run}`)];
    const { parting, models, common } = compareConversations(one, other);
    assertEquals([parting, models], [undefined, [["claude-opus-5-5"], ["claude-opus-5-5"]]], run);
    assertEquals(common.steps, one.length, run);
  }
});

Deno.test("compareConversations() finds where two conversations part, and what is there", () => {
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
  // A temporary folder is another one in each run.
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

Deno.test("a tape alone says the same of a conversation as its cast, which has a turn for each of its results", () => {
  for (const { name, cassette: { tape, cast } } of RECORDED_RUNS) {
    // A run's prompt is on no tape, nor is what it went on with.
    const spoken = (steps: readonly RecordedStep[]) =>
      steps.map(({ content }) => content).filter(({ kind }) => kind !== "prompt");
    const recorded = recordedTurns(cast);
    const results = framesOn(tape).filter(({ frame }) => frame.type === "result");
    // Its prompt was to be pasted into an input box that never came.
    const unanswered = name.endsWith("/dialog-first-start") ? ["Hi [[say never]]"] : [];
    assertEquals(
      [recorded.turns.length, recorded.unanswered.map(({ text }) => text)],
      [results.length, unanswered],
      name,
    );
    const ofCast = spoken(conversationSteps([{ ...recorded, earlier: [] }]));
    assertEquals(spoken(stepsOnTape(tape)), ofCast, name);
  }
  const { tape } = readCassette(
    new URL("../../../fixtures/recordings/runs/2.1.332/conversation", import.meta.url).pathname,
  );
  const prompts = stepsOnTape(tape).filter(({ content }) => content.kind === "prompt");
  assertEquals(prompts.map(({ turn }) => turn), [1, 2, 3, 4, 5]);
});

Deno.test("what a tape tells of a run without its prompt is the first turn", () => {
  const { tape } = readCassette(
    new URL("../../../fixtures/recordings/runs/2.1.332/tools", import.meta.url).pathname,
  );
  assertEquals(new Set(stepsOnTape(tape).map(({ turn }) => turn)), new Set([1]));
  assertEquals(stepsOnTape([]), []);
});

Deno.test("a command is the one that was typed, however Claude Code has it, and one that says nothing is a turn", () => {
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
  assertEquals(newest.map(({ turn }) => turn), [1, 1, 2, 2]);
  // 2.1.197 makes room for the next prompt, and both may say that there is nothing to say.
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

Deno.test("a call of another tool is where two tapes part", () => {
  const steps = (name: string) =>
    stepsOnTape([
      wrote(user("Look")),
      read({
        type: "assistant",
        message: { id: "m", model: "m", content: [{ type: "tool_use", id: "t", name, input: {} }] },
      }),
    ]);
  const { parting } = compareConversations(steps("Read"), steps("Grep"));
  assertEquals(parting?.difference, { pointer: "/tool", one: '"Read"', other: '"Grep"' });
});

const SAID_BY_ITSELF = { kind: "local", text: "", version: "2.1.330" } as const;

function entryOf(line: JsonObject): Entry {
  const entry = readEntry(line);
  if (entry === undefined) throw new Error("This is no line of a transcript");
  return entry;
}
