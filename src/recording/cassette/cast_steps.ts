import type { Input } from "../../conversation/control/input.ts";
import type { Message } from "../../conversation/control/message.ts";
import type { CastEvent, CastHeader, CastReader } from "./cassette_format.ts";
import { fromRecordedInput } from "./recorded_input.ts";
import { withSortedKeys } from "../../json_object.ts";

/** An input of a recorded session, and the effects that followed it. */
export interface CastStep {
  readonly input: Input;
  readonly effects: readonly RecordedEffect[];
  /** True for output that directly follows output. The recording may have cut the output anywhere. */
  readonly continuesOutput: boolean;
}

export function* castSteps({ header, events }: CastReader): Generator<CastStep> {
  const encode = slabEncoder();
  let last: { input: Input; effects: RecordedEffect[]; continuesOutput: boolean } | undefined;
  for (const input of firstInputs(header)) yield { input, effects: [], continuesOutput: false };
  for (const event of events) {
    const input = inputOf(event, encode);
    const effect = effectOf(event);
    if (input !== undefined) {
      if (last !== undefined) yield last;
      const continuesOutput = input.type === "terminal" && last?.input.type === "terminal";
      last = { input, effects: [], continuesOutput };
    } else if (effect !== undefined) {
      last?.effects.push(effect);
    }
  }
  if (last !== undefined) yield last;
}

export function firstMessage(cast: CastReader): Message | undefined {
  for (const { input } of castSteps(cast)) if (input.type === "message") return input.message;
  return undefined;
}

/** The first recordings have the run's only message in their header. */
function firstInputs({ claude_print: { first } }: CastHeader): readonly Input[] {
  return first === undefined
    ? []
    : [{ at: 0, type: "message", message: first }, { at: 0, type: "closed" }];
}

/** The size in bytes of a buffer that many texts share. */
const SLAB = 256 * 1024;

/**
 * Creates an encoder that puts many texts into one buffer. A buffer for each text takes longer to allocate than to
 * fill.
 */
function slabEncoder(): (text: string) => Uint8Array {
  const encoder = new TextEncoder();
  let slab = new Uint8Array(SLAB);
  let used = 0;
  return (text) => {
    // UTF-8 takes at most three bytes for a UTF-16 unit.
    const most = 3 * text.length;
    if (most > SLAB) return encoder.encode(text);
    if (used + most > SLAB) {
      slab = new Uint8Array(SLAB);
      used = 0;
    }
    const room = slab.subarray(used);
    const { written } = encoder.encodeInto(text, room);
    used += written;
    return room.subarray(0, written);
  };
}

function inputOf(
  { at, code, data }: CastEvent,
  encode: (text: string) => Uint8Array,
): Input | undefined {
  if (code === "o") return { at, type: "terminal", bytes: encode(data) };
  return code === "h" ? fromRecordedInput(JSON.parse(data), at) : undefined;
}

function effectOf({ code, data }: CastEvent): RecordedEffect | undefined {
  switch (code) {
    case "i":
      return { type: "write", text: data };
    case "r": {
      const [cols, rows] = data.split("x").map(Number);
      return { type: "resize", size: { rows, cols } } as RecordedEffect;
    }
    case "d":
      return JSON.parse(data);
    default:
      return undefined;
  }
}

/** The actions of a session between two inputs, in a form in which two runs can be compared. */
export interface Actions {
  /** The keys that the session typed, without replies to queries of the terminal. */
  readonly typed: string;
  /** Replies to queries of the terminal, sorted: their order depends on how the output was cut. */
  readonly replies: readonly string[];
  /** Other effects as JSON, with sorted keys. */
  readonly others: readonly string[];
}

/** An effect outside the program, in the form of a cast; typed keys as text. */
export type RecordedEffect =
  | { readonly type: "write"; readonly text: string }
  | {
    readonly type:
      | "look"
      | "answer"
      | "deliver"
      | "mcp-message"
      | "consult"
      | "kill"
      | "resize"
      | "list-shells"
      | "follow-shell"
      | "leave-shell"
      | "report"
      | "end";
  };

/** Replies of a terminal: reports of attributes, cursor and size. */
// deno-lint-ignore no-control-regex
const REPLY = /\x1b(?:\[[?>]?[\d;]*[cRnt]|P[^\x1b]*\x1b\\)/gu;

export function summarizeActions(effects: readonly RecordedEffect[]): Actions {
  const typed = effects.map((effect) => effect.type === "write" ? effect.text : "").join("");
  return {
    typed: typed.replace(REPLY, ""),
    replies: (typed.match(REPLY) ?? []).toSorted(),
    others: effects.filter(({ type }) => type !== "write").map((each) =>
      JSON.stringify(each, (_, value: unknown) => withSortedKeys(value))
    ),
  };
}
