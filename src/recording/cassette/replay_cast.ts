import { advance, startConversation } from "../../conversation/output/advance.ts";
import { type EffectPart, partsOf } from "../../conversation/output/conversation.ts";
import type { Ending } from "../../conversation/control/effect.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { PlayedCast } from "./cassette_format.ts";
import { type CastStep, castSteps, type Deeds, deedsOf, type OuterEffect } from "./cast_steps.ts";
import type { Input } from "../../conversation/control/input.ts";
import { asText } from "../../json_object.ts";

/** What the machines did with the inputs of a cast. */
interface CastReplay {
  /** How the session ended; absent when the inputs stop before that. */
  readonly ending?: Ending;
  /** What was said. */
  readonly frames: readonly Frame[];
  /** One sentence for each moment at which something else was done than was recorded. */
  readonly differences: readonly string[];
}

/**
 * Gives a cast's inputs to the machines and compares what they do with what was recorded: keys, looks at the screen,
 * signals, sizes, what became of the run and the end.
 *
 * Deadlines and screens are inputs as they were recorded: these machines are not asked when they want them. The result
 * does not depend on how the terminal's output was cut into events.
 *
 * @param options.split cuts all output into pieces of so many bytes
 */
export function replayCast(
  cast: PlayedCast,
  { split }: { readonly split?: number | undefined } = {},
): CastReplay {
  const { conversation, output } = cast.header.claude_print;
  let state = startConversation(conversation);
  let ending: Ending | undefined;
  const frames: Frame[] = [];
  const differences: string[] = [];
  let moment = { at: 0, recorded: [] as OuterEffect[], now: [] as OuterEffect[] };
  const compare = () => {
    const { at, recorded, now } = moment;
    const difference = describeDifference(deedsOf(recorded), deedsOf(now));
    if (difference !== undefined) differences.push(`At ${(at / 1000).toFixed(3)} s ${difference}`);
  };
  const steps = castSteps(cast);
  for (const { input, effects, goesOn } of split === undefined ? steps : splitSteps(steps, split)) {
    if (!goesOn) {
      compare();
      moment = { at: input.at, recorded: [], now: [] };
    }
    const next = advance(state, input);
    state = next.state;
    moment.recorded.push(...effects);
    for (const effect of next.effects.flatMap(partsOf)) {
      if (effect.type === "frame") frames.push(effect.frame);
      if (effect.type === "end") ending ??= effect.ending;
      // Before there was a record of how it printed, a run recorded nothing of what it said.
      if (effect.type === "report" && output === undefined) continue;
      moment.now.push(...outerEffect(effect));
    }
  }
  compare();
  return { ...(ending === undefined ? {} : { ending }), frames, differences };
}

/** An effect as it is recorded, if it is. */
function outerEffect(effect: EffectPart): readonly OuterEffect[] {
  switch (effect.type) {
    case "write":
      return [{ type: "write", text: new TextDecoder().decode(effect.bytes) }];
    case "deadline":
    case "postpone":
    case "trace":
    case "place-image":
    case "note-tools":
    case "named":
    case "log":
    case "whole":
    case "frame":
      return [];
    case "report":
      return [withoutResult(effect)];
    default:
      return [effect];
  }
}

/** What became of a run, without its result, which is a frame. */
export function withoutResult(
  { report }: Extract<EffectPart, { readonly type: "report" }>,
): OuterEffect {
  const { result: _, ...rest } = report;
  return { type: "report", report: rest } as OuterEffect;
}

/**
 * The same session, told in other pieces: what the child wrote with nothing else in between is taken as one and cut into
 * pieces of `size` bytes, of which the last may be shorter. A piece is of the time at which its last byte came. Each text
 * that a shell wrote is cut too, though never within a character.
 *
 * @param size from 1 on; so many bytes may be held
 */
export function* splitSteps(steps: Iterable<CastStep>, size: number): Generator<CastStep> {
  const output = createHeldOutput();
  for (const step of steps) {
    const { input } = step;
    if (input.type !== "terminal") {
      yield* output.rest();
      yield* input.type === "shell-output" ? shellPieces({ ...step, input }, size) : [step];
      continue;
    }
    if (!step.goesOn) yield* output.rest();
    output.take({ ...step, input });
    while (output.length() >= size) yield output.piece(size);
  }
  yield* output.rest();
}

/** A step with an input of one kind. */
type StepOf<Type> = CastStep & { readonly input: Extract<Input, { readonly type: Type }> };

/** What the child wrote and is in no piece yet. */
function createHeldOutput() {
  let parts: readonly Uint8Array[] = [];
  let length = 0;
  let effects: readonly OuterEffect[] = [];
  let at = 0;
  let isBegun = false;
  const piece = (size: number): CastStep => {
    const held = joined(parts, length);
    const step: CastStep = {
      input: { at, type: "terminal", bytes: held.subarray(0, size) },
      effects,
      goesOn: isBegun,
    };
    parts = [held.subarray(size)];
    length = Math.max(length - size, 0);
    effects = [];
    isBegun = true;
    return step;
  };
  return {
    take: (step: StepOf<"terminal">): void => {
      if (!step.goesOn) isBegun = false;
      at = step.input.at;
      parts = [...parts, step.input.bytes];
      length += step.input.bytes.length;
      effects = [...effects, ...step.effects];
    },
    length: () => length,
    piece,
    /** A last piece of whatever there is. */
    rest: (): readonly CastStep[] => length > 0 || effects.length > 0 ? [piece(length)] : [],
  };
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  if (parts.length === 1 && parts[0] !== undefined) return parts[0];
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function shellPieces(
  { input, effects }: StepOf<"shell-output">,
  size: number,
): readonly CastStep[] {
  const encoder = new TextEncoder();
  const pieces: string[] = [];
  let room = 0;
  for (const character of input.text) {
    const { length } = encoder.encode(character);
    if (length > room) {
      pieces.push("");
      room = size;
    }
    pieces.push(`${pieces.pop()}${character}`);
    room -= length;
  }
  return (pieces.length === 0 ? [""] : pieces).map((text, index) => ({
    input: { ...input, text },
    effects: index === 0 ? effects : [],
    goesOn: index > 0,
  }));
}

/** What was done, in the tense of either run. */
interface Words {
  readonly past: string;
  readonly present: string;
}

/** Longer keys are cut in a sentence. */
const MAX_TYPED = 60;

/** Says how two runs differ at a moment: "the recorded run … and this one …"; nothing when they do the same. */
function describeDifference(recorded: Deeds, now: Deeds): string | undefined {
  const sameKeys = recorded.typed === now.typed &&
    recorded.replies.join() === now.replies.join();
  const sameRest = recorded.others.join() === now.others.join();
  if (sameKeys && sameRest) return undefined;
  const parts = { keys: !sameKeys, rest: !sameRest };
  const before = wordsOf(recorded, parts).map(({ past }) => past);
  const after = wordsOf(now, parts).map(({ present }) => present);
  // The same words for two things: they differ in what a sentence leaves out.
  const details = wordsOf(now, parts).map(({ past }) => past).join() === before.join();
  return `the recorded run ${listed(before, "did nothing")}, and this one ${
    listed(after, "does nothing")
  }${details ? " with other details" : ""}`;
}

function wordsOf(
  deeds: Deeds,
  parts: { readonly keys: boolean; readonly rest: boolean },
): readonly Words[] {
  const keys = deeds.typed + deeds.replies.join("");
  return [
    ...(parts.keys && keys !== "" ? [typing(keys)] : []),
    ...(parts.rest ? deeds.others.map((other) => wordsOfEffect(JSON.parse(other))) : []),
  ];
}

function typing(keys: string): Words {
  const shown = JSON.stringify(keys.slice(0, MAX_TYPED)) + (keys.length > MAX_TYPED ? "…" : "");
  return { past: `typed ${shown}`, present: `types ${shown}` };
}

function wordsOfEffect(effect: Readonly<Record<string, unknown>>): Words {
  switch (effect["type"]) {
    case "look":
      return { past: "looked at the screen", present: "looks at the screen" };
    case "answer": {
      const reply = effect["reply"] === undefined ? "" : ` with ${JSON.stringify(effect["reply"])}`;
      return { past: `answered a hook${reply}`, present: `answers a hook${reply}` };
    }
    case "mcp-message":
      return {
        past: "answered a server's call",
        present: "answers a server's call",
      };
    case "consult":
      return {
        past: "asked a headless Claude Code",
        present: "asks a headless Claude Code",
      };
    case "deliver":
      return { past: "delivered the prompt", present: "delivers the prompt" };
    case "kill": {
      const whom = effect["tree"] === true ? "the child and its tools" : "the child";
      const rest = `${asText(effect["signal"])} to ${whom}`;
      return { past: `sent ${rest}`, present: `sends ${rest}` };
    }
    case "resize": {
      const { cols, rows } = effect["size"] as { readonly cols: unknown; readonly rows: unknown };
      const rest = `the terminal ${asText(cols)}x${asText(rows)} cells`;
      return { past: `made ${rest}`, present: `makes ${rest}` };
    }
    case "list-shells":
      return { past: "looked which shells run", present: "looks which shells run" };
    case "follow-shell":
      return {
        past: `followed shell ${asText(effect["id"])}`,
        present: `follows shell ${asText(effect["id"])}`,
      };
    case "leave-shell":
      return {
        past: `left shell ${asText(effect["id"])}`,
        present: `leaves shell ${asText(effect["id"])}`,
      };
    case "report": {
      const { exitCode, problem } = effect["report"] as {
        readonly exitCode: unknown;
        readonly problem?: { readonly message?: unknown };
      };
      const words = problem === undefined ? "" : ` and "${asText(problem.message)}"`;
      return {
        past: `told exit code ${asText(exitCode)}${words}`,
        present: `tells exit code ${asText(exitCode)}${words}`,
      };
    }
    case "end": {
      const { kind } = effect["ending"] as { readonly kind: unknown };
      return { past: `ended as "${asText(kind)}"`, present: `ends as "${asText(kind)}"` };
    }
    default: {
      const rest = `something unknown ("${asText(effect["type"])}")`;
      return { past: `did ${rest}`, present: `does ${rest}` };
    }
  }
}

function listed(words: readonly string[], nothing: string): string {
  return words.length === 0 ? nothing : words.join(" and ");
}
