import type { Cassette } from "../../src/cassette/cassette.ts";
import { createRecording } from "../../src/cassette/create_recording.ts";
import type { Input } from "../../src/session/input.ts";
import { step } from "../../src/session/machine.ts";
import { type SessionOptions, startSession } from "../../src/session/session_state.ts";
import type { AnyFrame } from "../../src/wire/frame.ts";

/** The cassette of a session that is given these inputs, as a run would record it. */
export function recordSession(
  inputs: readonly Input[],
  options: {
    readonly session?: Partial<SessionOptions>;
    readonly redact?: (text: string) => string;
    readonly frames?: readonly AnyFrame[];
  } = {},
): Cassette {
  const session: SessionOptions = {
    inject: "stdin",
    prompt: "hello there",
    size: { rows: 50, cols: 220 },
    timeoutMs: 60_000,
    startTimeoutMs: 60_000,
    deliveryTimeoutMs: 60_000,
    drainTimeoutMs: 10_000,
    exitTimeoutMs: 5000,
    otherStopHooks: false,
    ...options.session,
  };
  let now = 0;
  const recording = createRecording({
    version: "1.2.3",
    session,
    term: "xterm-256color",
    redact: options.redact ?? ((text) => text),
    now: () => now,
    wallTime: () => 1_700_000_000_000 + now,
  });
  let state = startSession(session);
  for (const input of inputs) {
    now = input.at;
    recording.input(input);
    const next = step(state, input);
    state = next.state;
    for (const effect of next.effects) recording.effect(effect);
  }
  for (const frame of options.frames ?? []) recording.frame(frame);
  const cassette = recording.cassette();
  if (cassette === undefined) throw new Error("Nothing was recorded");
  return cassette;
}
