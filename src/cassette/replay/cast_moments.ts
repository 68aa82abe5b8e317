import type { Input } from "../../session/input.ts";
import type { Message } from "../../session/message.ts";
import type { Cast, CastEvent, CastHeader } from "../cast.ts";
import { type Deeds, deedsOf, type OuterEffect } from "./deeds.ts";
import { playedInput } from "../recorded_input.ts";

/** An input of a recorded session that is not output, or all output between two of them, and what was done then. */
export interface CastMoment {
  /** Milliseconds since the child was started. */
  readonly at: number;
  readonly inputs: readonly Input[];
  readonly deeds: Deeds;
}

/** A recorded session, moment by moment, however its output was cut into events. */
export function castMoments({ header, events }: Cast): readonly CastMoment[] {
  const moments: { at: number; inputs: Input[]; effects: OuterEffect[]; isOutput: boolean }[] =
    firstInputs(header).map((input) => ({ at: 0, inputs: [input], effects: [], isOutput: false }));
  for (const event of events) {
    const { at } = event;
    const input = inputOf(event);
    const effect = effectOf(event);
    const last = moments.at(-1);
    if (input !== undefined) {
      const isOutput = input.type === "terminal";
      if (isOutput && last?.isOutput) last.inputs.push(input);
      else moments.push({ at, inputs: [input], effects: [], isOutput });
    } else if (effect !== undefined) {
      last?.effects.push(effect);
    }
  }
  return moments.map(({ at, inputs, effects }) => ({ at, inputs, deeds: deedsOf(effects) }));
}

/** The first message of a run. */
export function firstMessage(cast: Cast): Message | undefined {
  const [input] = castMoments(cast).flatMap(({ inputs }) => inputs)
    .filter(({ type }) => type === "message");
  return input?.type === "message" ? input.message : undefined;
}

/** The message of a run, which the first recordings hold in their header. */
function firstInputs({ claude_print: { first } }: CastHeader): readonly Input[] {
  return first === undefined
    ? []
    : [{ at: 0, type: "message", message: first }, { at: 0, type: "closed" }];
}

function inputOf({ at, code, data }: CastEvent): Input | undefined {
  if (code === "o") return { at, type: "terminal", bytes: new TextEncoder().encode(data) };
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
