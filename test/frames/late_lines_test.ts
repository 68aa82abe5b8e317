import { assert, assertEquals } from "@std/assert";
import { fold, partsOf } from "../../src/frames/conversation.ts";
import type { Input } from "../../src/session/input.ts";
import type { Frame } from "../../src/wire/frame.ts";
import { castInputs } from "../cassette/cast_inputs.ts";
import { RECORDED_RUNS } from "../cassette/recorded_runs.ts";

/** Inputs that tell of files, of the child and of the time: what is late may come between any two of them. */
const PLACES = ["transcript", "hook", "status", "cost", "deadline", "exit"];

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

/** The same inputs, with a line of a subagent, and what it has written behind that, read ahead of another input. */
function withLate(
  inputs: readonly Input[],
  { from, to }: { readonly from: number; readonly to: number },
) {
  const late = inputs[from];
  const between = inputs.slice(from, to);
  const isLate = (input: Input) =>
    input.type === "subagent" && late?.type === "subagent" &&
    input.line.subagent.agentId === late.line.subagent.agentId;
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
  Deno.test(`${run.name}: however late the lines of a subagent are read, nothing gets lost, nor is told twice`, () => {
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
      if (input.type !== "subagent" || !SAYING.includes(input.line.entry.type)) continue;
      for (const [to, { type }] of inputs.entries()) {
        if (to <= from || !PLACES.includes(type)) continue;
        assertEquals(told(withLate(inputs, { from, to })), recorded, `line ${from} ahead of ${to}`);
        moved++;
      }
    }
    assert(moved > 0);
  });
}
