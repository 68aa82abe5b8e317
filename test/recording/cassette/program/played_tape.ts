import {
  type PlayEffect,
  Player,
  type PlayInput,
} from "../../../../src/recording/cassette/program/play_program.ts";
import {
  type ProgramOptions,
  recordedProgram,
} from "../../../../src/recording/cassette/program/recorded_program.ts";
import type { TapeEntry } from "../../../../src/recording/cassette/cassette_format.ts";
import type { AnyFrame } from "../../../../src/claude/wire/any_frame.ts";

/** A caller line on a tape. */
export function wrote(value: unknown, { at = 0 } = {}): TapeEntry {
  return { at, dir: "write", data: `${JSON.stringify(value)}\n` };
}

/** A frame on a tape. */
export function read(frame: AnyFrame, { at = 0 } = {}): TapeEntry {
  return { at, dir: "read", frame };
}

/** A message of the caller. */
export function user(content: unknown, more: Readonly<Record<string, unknown>> = {}) {
  return { type: "user", message: { role: "user", content }, ...more };
}

/** A request of the caller, or a question of the program. */
export function request(id: string, body: Readonly<Record<string, unknown>>): AnyFrame {
  return { type: "control_request", request_id: id, request: body };
}

/** The answer to a request or a question. */
export function answer(id: string, response: unknown = {}): AnyFrame {
  return { type: "control_response", response: { subtype: "success", request_id: id, response } };
}

/** An answer of the model. */
export function says(text: string): AnyFrame {
  return { type: "assistant", message: { content: [{ type: "text", text }] }, session_id: SESSION };
}

/** The beginning and the end of a turn. */
export const INIT: AnyFrame = { type: "system", subtype: "init", session_id: "" };
export const RESULT: AnyFrame = { type: "result", subtype: "success", is_error: false };

/** The session of these tapes. */
export const SESSION = "0e8f2c1a-1111-4222-8333-444455556666";

/** The result of a play. */
export interface PlayedTape {
  readonly said: readonly AnyFrame[];
  /** The number of emitted frames after each input. */
  readonly counts: readonly number[];
  readonly divergences: readonly string[];
  readonly uncompared: readonly string[];
  readonly end?: Extract<PlayEffect, { readonly type: "end" }>;
}

/** Plays a tape to a caller that writes these values, one a line, and then closes its input or waits for too long. */
export function playedTape(
  tape: readonly TapeEntry[],
  written: readonly unknown[],
  { last = "closed", stops = false, sessionId, ...options }: Partial<ProgramOptions> & {
    readonly last?: "closed" | "timeout" | "nothing";
    /** Whether the caller then ends the program by a signal. */
    readonly stops?: boolean;
    readonly sessionId?: string;
  } = {},
): PlayedTape {
  const program = recordedProgram(tape, { mode: "verify", path: "tape.jsonl", ...options });
  const inputs: readonly PlayInput[] = [
    { type: "start" },
    ...written.map((value) => ({
      type: "line" as const,
      line: typeof value === "string" ? value : JSON.stringify(value),
    })),
    ...(last === "nothing" ? [] : [{ type: last }]),
    ...(stops ? [{ type: "stopped" } as const] : []),
  ];
  const player = new Player(program, sessionId === undefined ? {} : { sessionId });
  const effects: PlayEffect[] = [];
  const counts: number[] = [];
  for (const input of inputs) {
    const own = player.receive(input);
    for (const effect of own) effects.push(effect);
    const emitted = own.filter(({ type }) => type === "emit").length;
    counts.push((counts.at(-1) ?? 0) + emitted);
  }
  const end = effects.find((effect) => effect.type === "end");
  return {
    said: effects.flatMap((effect) => effect.type === "emit" ? [effect.frame] : []),
    counts,
    uncompared: effects.flatMap((effect) => effect.type === "uncompared" ? [effect.what] : []),
    divergences: effects.flatMap((effect) => effect.type === "divergence" ? [effect.what] : []),
    ...(end === undefined ? {} : { end }),
  };
}
