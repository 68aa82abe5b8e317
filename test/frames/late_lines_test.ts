import { assert, assertEquals } from "@std/assert";
import { fold, partsOf } from "../../src/frames/conversation.ts";
import type { Input } from "../../src/session/input.ts";
import type { Frame } from "../../src/wire/frame.ts";
import { castInputs } from "../cassette/cast_inputs.ts";
import { RECORDED_RUNS } from "../cassette/recorded_runs.ts";

/** Inputs ahead of which lines are read that are late, by whose they are: the session's own say much by themselves. */
const PLACES = {
  subagent: ["transcript", "hook", "status", "cost", "deadline", "exit"],
  transcript: ["hook", "exit"],
};

/** Lines of which something is told. */
const SAYING = ["assistant", "user"];

/** What is said, and what becomes of tasks, in words that do not depend on when. */
function wordsOf(frames: readonly Frame[]): readonly string[] {
  return frames.flatMap(
    ({ type, subtype, message, parent_tool_use_id: parent, task_id: id, status }) => {
      if (type === "assistant" || type === "user") {
        const { content } = message as { readonly content: unknown };
        return [JSON.stringify([type, parent, content])];
      }
      const isOfTask = subtype === "task_started" || subtype === "task_notification";
      return isOfTask || type === "result" ? [JSON.stringify([type, subtype, id, status])] : [];
    },
  ).toSorted();
}

/** Whose transcript an input has a line of: a subagent's, by its id, or the session's own. */
function writerOf(input: Input): string | undefined {
  if (input.type === "subagent") return input.line.subagent.agentId;
  return input.type === "transcript" ? "the session" : undefined;
}

/** Whether an input has a line of which something is told. */
function isSaid(input: Input): boolean {
  const entry = input.type === "subagent"
    ? input.line.entry
    : input.type === "transcript"
    ? input.entry
    : undefined;
  return entry !== undefined && SAYING.includes(entry.type);
}

/** The same inputs, with a line, and what its writer has written behind that, read ahead of another input. */
function withLate(
  inputs: readonly Input[],
  { from, to, writer }: {
    readonly from: number;
    readonly to: number;
    readonly writer: string | undefined;
  },
) {
  const between = inputs.slice(from, to);
  const isLate = (input: Input) => writerOf(input) === writer;
  const at = inputs[to - 1]?.at ?? 0;
  return [
    ...inputs.slice(0, from),
    ...between.filter((input) => !isLate(input)),
    ...between.filter(isLate).map((input) => ({ ...input, at })),
    { type: "read", at } as const,
    ...inputs.slice(to),
  ];
}

for (const run of RECORDED_RUNS.filter(({ name }) => /subagents?$/u.test(name))) {
  Deno.test(`${run.name}: however late the lines of a transcript are read, nothing gets lost, nor is told twice`, () => {
    const { cast } = run.cassette;
    const { conversation } = cast.header.claude_print;
    const inputs = castInputs(cast);
    const told = (inputs: readonly Input[]) => {
      const frames: Frame[] = [];
      fold(conversation, inputs, {
        onEffect: (effect) => {
          for (const part of partsOf(effect)) if (part.type === "frame") frames.push(part.frame);
        },
      });
      return wordsOf(frames);
    };
    const recorded = told(inputs);
    let moved = 0;
    for (const [from, input] of inputs.entries()) {
      if (!isSaid(input) || (input.type !== "subagent" && input.type !== "transcript")) continue;
      const writer = writerOf(input);
      for (const [to, { type }] of inputs.entries()) {
        if (to <= from || !PLACES[input.type].includes(type)) continue;
        assertEquals(
          told(withLate(inputs, { from, to, writer })),
          recorded,
          `line ${from} ahead of ${to}`,
        );
        moved++;
      }
    }
    assert(moved > 0);
  });
}
