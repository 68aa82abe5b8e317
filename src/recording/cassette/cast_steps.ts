import type { Input } from "../../conversation/control/input.ts";
import type { Message } from "../../conversation/control/message.ts";
import type { CastEvent, CastHeader, PlayedCast } from "./cassette_format.ts";
import { playedInput } from "./recorded_input.ts";
import { isJsonObject } from "../../json_object.ts";

/** An input of a recorded session, and what was done about it. */
export interface CastStep {
  readonly input: Input;
  readonly effects: readonly OuterEffect[];
  /** Whether it is of the same moment as the one before: output after output, which may have been cut anywhere. */
  readonly goesOn: boolean;
}

/** A recorded session, input by input. */
export function* castSteps({ header, events }: PlayedCast): Generator<CastStep> {
  const encode = slabEncoder();
  let last: { input: Input; effects: OuterEffect[]; goesOn: boolean } | undefined;
  for (const input of firstInputs(header)) yield { input, effects: [], goesOn: false };
  for (const event of events) {
    const input = inputOf(event, encode);
    const effect = effectOf(event);
    if (input !== undefined) {
      if (last !== undefined) yield last;
      const goesOn = input.type === "terminal" && last?.input.type === "terminal";
      last = { input, effects: [], goesOn };
    } else if (effect !== undefined) {
      last?.effects.push(effect);
    }
  }
  if (last !== undefined) yield last;
}

/** The first message of a run. */
export function firstMessage(cast: PlayedCast): Message | undefined {
  for (const { input } of castSteps(cast)) if (input.type === "message") return input.message;
  return undefined;
}

/** The message of a run, which the first recordings hold in their header. */
function firstInputs({ claude_print: { first } }: CastHeader): readonly Input[] {
  return first === undefined
    ? []
    : [{ at: 0, type: "message", message: first }, { at: 0, type: "closed" }];
}

/** The size of a piece of memory that many texts share, in bytes. */
const SLAB = 256 * 1024;

/** Encodes texts into memory that many of them share: to have some for each takes longer than to fill it. */
function slabEncoder(): (text: string) => Uint8Array {
  const encoder = new TextEncoder();
  let slab = new Uint8Array(SLAB);
  let used = 0;
  return (text) => {
    // No character takes more than three bytes for each of its code units.
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
  return code === "h" ? playedInput(JSON.parse(data), at) : undefined;
}

function effectOf({ code, data }: CastEvent): OuterEffect | undefined {
  switch (code) {
    case "i":
      return { type: "write", text: data };
    case "r": {
      const [cols, rows] = data.split("x").map(Number);
      return { type: "resize", size: { rows, cols } } as OuterEffect;
    }
    case "d":
      return JSON.parse(data);
    default:
      return undefined;
  }
}

/** What a session did at a moment, so that two runs can be compared. */
export interface Deeds {
  /** What it typed, without answers to the terminal's queries. */
  readonly typed: string;
  /** Those answers, in alphabetical order: which of them comes first depends on how the output was cut. */
  readonly replies: readonly string[];
  /** Whatever else reached the outside, as JSON with the names of fields in alphabetical order. */
  readonly others: readonly string[];
}

/** An effect that reaches the outside: keys as text, or a look, a signal, a size or the end as the machine says it. */
export type OuterEffect =
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

/** What a terminal types by itself: reports on its attributes, its cursor and its size. */
// deno-lint-ignore no-control-regex
const REPLY = /\x1b(?:\[[?>]?[\d;]*[cRnt]|P[^\x1b]*\x1b\\)/gu;

/** Sums up effects in the order in which they were done. */
export function deedsOf(effects: readonly OuterEffect[]): Deeds {
  const typed = effects.map((effect) => effect.type === "write" ? effect.text : "").join("");
  return {
    typed: typed.replace(REPLY, ""),
    replies: (typed.match(REPLY) ?? []).toSorted(),
    others: effects.filter(({ type }) => type !== "write").map(canonicalJson),
  };
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(
    value,
    (_, item: unknown) =>
      isJsonObject(item)
        ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => a < b ? -1 : 1))
        : item,
  );
}
