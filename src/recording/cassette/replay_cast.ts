import { advance, startConversation } from "../../conversation/output/advance.ts";
import { type EffectPart, partsOf } from "../../conversation/output/conversation.ts";
import type { Ending } from "../../conversation/control/effect.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { CastReader } from "./cassette_format.ts";
import {
  type Actions,
  type CastStep,
  castSteps,
  type RecordedEffect,
  summarizeActions,
} from "./cast_steps.ts";
import { joinedBytes } from "../../joined_bytes.ts";
import type { Input } from "../../conversation/control/input.ts";
import { asText, isJsonObject } from "../../json_object.ts";

/** The result of a replay. */
interface CastReplay {
  /** How the session ended; absent if the recording stops before the end. */
  readonly ending?: Ending;
  /** The frames that this version of claude-print prints for the recording. */
  readonly frames: readonly Frame[];
  /** One sentence for each moment at which this version acts differently. */
  readonly differences: readonly string[];
}

/**
 * Passes the inputs of a cast to a conversation and compares its effects with the recorded ones: keys, looks at the
 * screen, signals, sizes, the report and the end.
 *
 * Deadlines and screens come from the recording, not from the effects of this conversation. The result does not depend
 * on how the recording cut the terminal's output.
 *
 * @param options.split cuts all output into pieces of this many bytes
 */
export function replayCast(
  cast: CastReader,
  { split }: { readonly split?: number | undefined } = {},
): CastReplay {
  const { conversation, output } = cast.header.claude_print;
  let state = startConversation(conversation);
  let ending: Ending | undefined;
  const frames: Frame[] = [];
  const differences: string[] = [];
  let moment = { at: 0, recorded: [] as RecordedEffect[], now: [] as RecordedEffect[] };
  const compare = () => {
    const { at, recorded, now } = moment;
    const difference = describeDifference(summarizeActions(recorded), summarizeActions(now));
    if (difference !== undefined) differences.push(`At ${(at / 1000).toFixed(3)} s ${difference}`);
  };
  const steps = castSteps(cast);
  for (
    const { input, effects, continuesOutput } of split === undefined
      ? steps
      : splitSteps(steps, split)
  ) {
    if (!continuesOutput) {
      compare();
      moment = { at: input.at, recorded: [], now: [] };
    }
    const next = advance(state, input);
    state = next.state;
    moment.recorded.push(...effects);
    for (const effect of next.effects.flatMap(partsOf)) {
      if (effect.type === "frame") frames.push(effect.frame);
      if (effect.type === "end") ending ??= effect.ending;
      // The first recordings have no reports.
      if (effect.type === "report" && output === undefined) continue;
      moment.now.push(...toRecordedEffect(effect));
    }
  }
  compare();
  return { ...(ending === undefined ? {} : { ending }), frames, differences };
}

/** The effect in the form of a cast; none for an effect that is not recorded. */
function toRecordedEffect(effect: EffectPart): readonly RecordedEffect[] {
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

/** A report without the result, which is a frame. */
export function withoutResult(
  { report }: Extract<EffectPart, { readonly type: "report" }>,
): RecordedEffect {
  const { result: _, ...rest } = report;
  return { type: "report", report: rest } as RecordedEffect;
}

/**
 * Cuts the child's output into pieces of `size` bytes, regardless of how the recording cut it. The last piece before
 * another input may be shorter. A piece has the time of its last byte. Output of shells is also cut, but never within a
 * character.
 *
 * @param size at least 1
 */
export function* splitSteps(steps: Iterable<CastStep>, size: number): Generator<CastStep> {
  const output = createOutputBuffer();
  for (const step of steps) {
    const { input } = step;
    if (input.type !== "terminal") {
      yield* output.rest();
      yield* input.type === "shell-output" ? shellPieces({ ...step, input }, size) : [step];
      continue;
    }
    if (!step.continuesOutput) yield* output.rest();
    output.take({ ...step, input });
    while (output.length() >= size) yield output.piece(size);
  }
  yield* output.rest();
}

type StepOf<Type> = CastStep & { readonly input: Extract<Input, { readonly type: Type }> };

/** Collects output of the child until there is enough for a piece. */
function createOutputBuffer() {
  let parts: readonly Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  let effects: readonly RecordedEffect[] = [];
  let at = 0;
  let isBegun = false;
  const piece = (size: number): CastStep => {
    const bytes = joinedBytes(parts);
    const step: CastStep = {
      input: { at, type: "terminal", bytes: bytes.subarray(0, size) },
      effects,
      continuesOutput: isBegun,
    };
    parts = [bytes.subarray(size)];
    length = Math.max(length - size, 0);
    effects = [];
    isBegun = true;
    return step;
  };
  return {
    take: (step: StepOf<"terminal">): void => {
      if (!step.continuesOutput) isBegun = false;
      at = step.input.at;
      parts = [...parts, step.input.bytes as Uint8Array<ArrayBuffer>];
      length += step.input.bytes.length;
      effects = [...effects, ...step.effects];
    },
    length: () => length,
    piece,
    /** All remaining output, as the last piece. */
    rest: (): readonly CastStep[] => length > 0 || effects.length > 0 ? [piece(length)] : [],
  };
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
    continuesOutput: index > 0,
  }));
}

/** An action in the past tense, and in the present tense. */
interface Description {
  readonly past: string;
  readonly present: string;
}

/** The maximum number of characters of typed keys in a sentence. */
const MAX_TYPED = 60;

/**
 * Describes how two runs differ at one moment: "the recorded run … and this one …". Undefined if their actions are
 * equal.
 */
function describeDifference(recorded: Actions, now: Actions): string | undefined {
  const sameKeys = recorded.typed === now.typed &&
    recorded.replies.join() === now.replies.join();
  const sameRest = recorded.others.join() === now.others.join();
  if (sameKeys && sameRest) return undefined;
  const parts = { keys: !sameKeys, rest: !sameRest };
  const before = describeActions(recorded, parts).map(({ past }) => past);
  const after = describeActions(now, parts).map(({ present }) => present);
  // The actions have equal descriptions: they differ only in details that the description leaves out.
  const details = describeActions(now, parts).map(({ past }) => past).join() === before.join();
  return `the recorded run ${listed(before, "did nothing")}, and this one ${
    listed(after, "does nothing")
  }${details ? " with other details" : ""}`;
}

function describeActions(
  actions: Actions,
  parts: { readonly keys: boolean; readonly rest: boolean },
): readonly Description[] {
  const keys = actions.typed + actions.replies.join("");
  return [
    ...(parts.keys && keys !== "" ? [typing(keys)] : []),
    ...(parts.rest ? actions.others.map((other) => describeEffect(JSON.parse(other))) : []),
  ];
}

function typing(keys: string): Description {
  const shown = JSON.stringify(keys.slice(0, MAX_TYPED)) + (keys.length > MAX_TYPED ? "…" : "");
  return { past: `typed ${shown}`, present: `types ${shown}` };
}

function describeEffect(effect: Readonly<Record<string, unknown>>): Description {
  const action = (past: string, present: string, rest: string): Description => ({
    past: `${past} ${rest}`,
    present: `${present} ${rest}`,
  });
  const fieldsOf = (name: string) => effect[name] as Readonly<Record<string, unknown>>;
  const shell = `shell ${asText(effect["id"])}`;
  switch (effect["type"]) {
    case "look":
      return action("looked", "looks", "at the screen");
    case "answer": {
      const reply = effect["reply"] === undefined ? "" : ` with ${JSON.stringify(effect["reply"])}`;
      return action("answered", "answers", `a hook${reply}`);
    }
    case "mcp-message":
      return action("answered", "answers", "a server's call");
    case "consult":
      return action("asked", "asks", "a headless Claude Code");
    case "deliver":
      return action("delivered", "delivers", "the prompt");
    case "kill": {
      const target = effect["tree"] === true ? "the child and its tools" : "the child";
      return action("sent", "sends", `${asText(effect["signal"])} to ${target}`);
    }
    case "resize": {
      const { cols, rows } = fieldsOf("size");
      return action("made", "makes", `the terminal ${asText(cols)}x${asText(rows)} cells`);
    }
    case "list-shells":
      return action("looked", "looks", "which shells run");
    case "follow-shell":
      return action("followed", "follows", shell);
    case "leave-shell":
      return action("left", "leaves", shell);
    case "report": {
      const { exitCode, problem } = fieldsOf("report");
      const message = isJsonObject(problem) ? ` and "${asText(problem["message"])}"` : "";
      return action("reported", "reports", `exit code ${asText(exitCode)}${message}`);
    }
    case "end":
      return action("ended", "ends", `as "${asText(fieldsOf("ending")["kind"])}"`);
    default:
      return action("did", "does", `something unknown ("${asText(effect["type"])}")`);
  }
}

function listed(words: readonly string[], nothing: string): string {
  return words.length === 0 ? nothing : words.join(" and ");
}
