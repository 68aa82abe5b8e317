import type { Input } from "../../../conversation/control/input.ts";
import type { CastStep } from "./cast_steps.ts";
import type { OuterEffect } from "./deeds.ts";

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
