import { assert, assertEquals } from "@std/assert";
import { advance, startConversation } from "../../../src/conversation/output/advance.ts";
import { effectsAtEnd } from "../../../src/conversation/output/end_conversation.ts";
import {
  type ConversationEffect,
  type ConversationState,
  type EffectPart,
  partsOf,
} from "../../../src/conversation/output/conversation.ts";
import type { Input } from "../../../src/conversation/control/input.ts";
import { type Entry, lineOf } from "../../../src/claude/transcript/entry.ts";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import {
  castInputs,
  RECORDED_RUNS,
  type RecordedRun,
} from "../../recording/cassette/recorded_runs.ts";
import { foldArmed } from "./armed_deadlines.ts";

/** The runs of which no later version has recorded the same. */
const NEWEST = [
  ...Map.groupBy(RECORDED_RUNS, ({ name }) => name.split("/")[1]).values(),
].flatMap((runs) => runs.slice(-1));

/** Endings of runs whose Claude Code has nothing more to do. */
const AT_REST = ["answered", "failed", "max-turns", "budget"];

/** The line of a transcript that an input holds. */
function entryIn(input: Input): Entry | undefined {
  if (input.type === "transcript") return input.entry;
  return input.type === "subagent" ? input.line.entry : undefined;
}

const isMirror = (part: EffectPart) =>
  part.type === "frame" && part.frame.type === "transcript_mirror";

/** What effects print and report, but for the mirrored lines. */
const partsBut = (effects: readonly ConversationEffect[]) =>
  effects.flatMap(partsOf).filter((part) => part.type !== "end" && !isMirror(part));

/** A recorded run that mirrors its transcripts: what it prints, what it foretells, and what it says at its end. */
function replay({ name, cassette: { cast } }: RecordedRun) {
  const { session, frames: options, report } = cast.header.claude_print.conversation;
  const inputs = castInputs(cast);
  const frames: Frame[] = [];
  const said: { foretold?: unknown; last?: unknown; ending?: string; between: number } = {
    between: 0,
  };
  foldArmed({ session, frames: { ...options, mirrorPath: "/u/s.jsonl" }, report }, inputs, {
    onEffect: (effect) => {
      for (const part of partsOf(effect)) if (part.type === "frame") frames.push(part.frame);
      if (effect.type === "whole") said.foretold = partsBut(effectsAtEnd(effect));
      if (effect.type !== "end") {
        if (effect.type === "frame" && !isMirror(effect) && said.foretold) said.between++;
        return;
      }
      said.last = partsBut([effect]);
      said.ending = effect.ending.kind;
    },
  });
  return { name, inputs, frames, ...said };
}

let replays: readonly ReturnType<typeof replay>[] | undefined;
const allReplays = () => replays ??= NEWEST.map(replay);

Deno.test("recorded deadlines were armed", () => {
  const fired = allReplays().flatMap(({ inputs }) =>
    inputs.flatMap((input) => input.type === "deadline" ? [input.name] : [])
  );
  assert(fired.length > 50);
});

Deno.test("recorded lines are mirrored once, before their turn's result", () => {
  for (const { name, inputs, frames } of allReplays()) {
    const lines = inputs.flatMap((input) => entryIn(input) ?? []).map(lineOf);
    const unread = new Set(lines.map(({ uuid }) => uuid));
    const printed = new Set<unknown>();
    let mirrored = 0;
    for (const frame of frames) {
      if (frame.type === "transcript_mirror") {
        mirrored += frame.entries.length;
        for (const { uuid } of frame.entries) unread.delete(uuid);
      }
      if (frame.type === "assistant" && unread.has(frame.uuid)) printed.add(frame.uuid);
      if (frame.type === "result") assert(printed.isDisjointFrom(unread), name);
    }
    assertEquals(mirrored, lines.length, name);
  }
});

Deno.test("a completed transcript foretells what the end prints", () => {
  for (const { name, foretold, last, ending = "", between } of allReplays()) {
    assertEquals(foretold, AT_REST.includes(ending) ? last : undefined, name);
    assertEquals(between, 0, name);
  }
});

/** A conversation after some inputs, and what it has printed. */
interface Moment {
  readonly state: ConversationState;
  readonly words: readonly string[];
}

/** Answers, messages, results, and the beginnings and ends of tasks, in words that do not depend on their time. */
function wordsOf({ type, subtype, message, parent_tool_use_id: parent, task_id, status }: Frame) {
  if (type === "assistant" || type === "user") {
    const { content } = message as { readonly content: unknown };
    return [JSON.stringify([type, parent, content])];
  }
  const isOfTask = subtype === "task_started" || subtype === "task_notification";
  return isOfTask || type === "result" ? [JSON.stringify([type, subtype, task_id, status])] : [];
}

function after(before: Moment, inputs: readonly Input[]): Moment {
  let { state } = before;
  const words = [...before.words];
  for (const input of inputs) {
    const next = advance(state, input);
    state = next.state;
    for (const part of next.effects.flatMap(partsOf)) {
      if (part.type === "frame") words.push(...wordsOf(part.frame));
    }
  }
  return { state, words };
}

/** Whose transcript an input has a line of. */
function writerOf(input: Input): string | undefined {
  if (input.type === "subagent") return input.line.subagent.agentId;
  return input.type === "transcript" ? "the session" : undefined;
}

/** Inputs before which late lines are read. Lines of the session itself say much about its end. */
const PLACES = {
  subagent: ["transcript", "hook", "status", "cost", "deadline", "exit"],
  transcript: ["hook", "exit"],
};

/** Reads each printed line, and its writer's later ones, before every third of the later inputs in turn. */
function* lateOrders({ cassette: { cast } }: RecordedRun): Generator<Moment> {
  const inputs = castInputs(cast);
  let before: Moment = {
    state: startConversation(cast.header.claude_print.conversation),
    words: [],
  };
  for (const [from, input] of inputs.entries()) {
    const { type } = entryIn(input) ?? {};
    if (
      (type === "assistant" || type === "user") &&
      (input.type === "subagent" || input.type === "transcript")
    ) {
      const late: Input[] = [];
      let others = before;
      for (const [place, next] of inputs.slice(from).entries()) {
        if (place > 0 && (from + place) % 3 === 0 && PLACES[input.type].includes(next.type)) {
          const at = inputs[from + place - 1]?.at ?? 0;
          const read = [...late.map((each) => ({ ...each, at })), { type: "read", at } as const];
          yield after(others, [...read, ...inputs.slice(from + place)]);
        }
        if (writerOf(next) === writerOf(input)) late.push(next);
        else others = after(others, [next]);
      }
    }
    before = after(before, [input]);
  }
}

for (const run of NEWEST.filter(({ name }) => /subagents?$/u.test(name))) {
  Deno.test(`${run.name}: late lines are printed once`, () => {
    const { cast } = run.cassette;
    const { conversation } = cast.header.claude_print;
    const recorded = after({ state: startConversation(conversation), words: [] }, castInputs(cast));
    let count = 0;
    for (const { words } of lateOrders(run)) {
      assertEquals(words.toSorted(), recorded.words.toSorted());
      count++;
    }
    assert(count > 10);
  });
}
