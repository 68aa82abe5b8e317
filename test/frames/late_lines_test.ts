import { assert, assertEquals } from "@std/assert";
import { advance, startConversation } from "../../src/frames/advance.ts";
import { type ConversationState, partsOf } from "../../src/frames/conversation.ts";
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
  );
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

/** A conversation that has come to an input, and what it has told so far. */
interface Told {
  readonly state: ConversationState;
  readonly words: readonly string[];
}

/** A conversation that has told something, once it has taken further inputs. */
function taken(before: Told, inputs: readonly Input[]): Told {
  let { state } = before;
  const frames: Frame[] = [];
  for (const input of inputs) {
    const next = advance(state, input);
    state = next.state;
    for (const part of next.effects.flatMap(partsOf)) {
      if (part.type === "frame") frames.push(part.frame);
    }
  }
  return { state, words: [...before.words, ...wordsOf(frames)] };
}

for (const run of RECORDED_RUNS.filter(({ name }) => /subagents?$/u.test(name))) {
  Deno.test(`${run.name}: however late the lines of a transcript are read, nothing gets lost, nor is told twice`, () => {
    const { cast } = run.cassette;
    const inputs = castInputs(cast);
    let before: Told = {
      state: startConversation(cast.header.claude_print.conversation),
      words: [],
    };
    const recorded = taken(before, inputs).words.toSorted();
    const isNewest = RECORDED_RUNS.findLast(({ name }) =>
      name.split("/")[1] === run.name.split("/")[1]
    ) === run;
    let moved = 0;
    for (const [from, input] of inputs.entries()) {
      if (isSaid(input) && (input.type === "subagent" || input.type === "transcript")) {
        const writer = writerOf(input);
        // A line, and what its writer has written behind that, is read ahead of each other input in turn.
        const late: Input[] = [];
        let others = before;
        const places = inputs.keys().filter((to) =>
          to > from && PLACES[input.type].includes(inputs[to]?.type ?? "")
        ).toArray();
        // Of what a later version has told, too, a line is read at the latest, and no earlier.
        const tried = isNewest ? places : places.slice(-1);
        for (const [to, next] of inputs.entries()) {
          if (to < from) continue;
          if (tried.includes(to)) {
            const at = inputs[to - 1]?.at ?? 0;
            const read = [...late.map((each) => ({ ...each, at })), { type: "read", at } as const];
            assertEquals(
              taken(others, [...read, ...inputs.slice(to)]).words.toSorted(),
              recorded,
              `line ${from} ahead of ${to}`,
            );
            moved++;
          }
          if (writerOf(next) === writer) late.push(next);
          else others = taken(others, [next]);
        }
      }
      before = taken(before, [input]);
    }
    assert(moved > 0);
  });
}
