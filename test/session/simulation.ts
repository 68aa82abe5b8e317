import type { Effect } from "../../src/session/effect.ts";
import type { DeadlineName } from "../../src/session/deadline_names.ts";
import type { Input, Untimed } from "../../src/session/input.ts";
import { step } from "../../src/session/machine/machine.ts";
import type { SessionOptions } from "../../src/session/session_options.ts";
import { type SessionState, startSession } from "../../src/session/session_state.ts";
import type { WayIn } from "../../src/session/message.ts";
import type { Screen } from "../../src/session/terminal/screen.ts";

import { onlyMessage } from "./only_message.ts";

/** A session on a clock that stands still until it is told to go on. */
export interface Simulation {
  /** Hears something now. */
  readonly hear: (input: Untimed<Input>) => void;
  /** Writes text to the child's terminal now. */
  readonly show: (text: string) => void;
  /** Lets time pass; deadlines fire when they are due, looks are answered with the screen. */
  readonly wait: (ms: number) => void;
  /** Lets time pass in which this program is stopped: nothing fires meanwhile. */
  readonly sleep: (ms: number) => void;
  /** Puts lines on the screen that a look will see. */
  readonly draw: (...lines: readonly string[]) => void;
  readonly now: () => number;
  readonly state: () => SessionState;
  readonly effects: readonly Effect[];
  readonly typed: () => string;
  readonly ending: () => Extract<Effect, { type: "end" }>["ending"] | undefined;
  readonly signals: () => readonly string[];
}

/** Starts a session that has just been spawned. */
export function simulate(
  { prompt, inject, ...options }: Partial<SessionOptions> & {
    readonly prompt?: string;
    readonly inject?: WayIn;
  } = {},
): Simulation {
  let state = startSession({
    size: { rows: 50, cols: 220 },
    timeoutMs: 3_600_000,
    startTimeoutMs: 60_000,
    deliveryTimeoutMs: 30_000,
    drainTimeoutMs: 10_000,
    exitTimeoutMs: 5000,
    otherStopHooks: false,
    ...options,
  });
  let now = 0;
  let screen: Screen = { lines: [], cursor: { row: 1, col: 1 } };
  const deadlines = new Map<DeadlineName, number>();
  const effects: Effect[] = [];
  const hear = (input: Untimed<Input>) => {
    const next = step(state, { ...input, at: now } as Input);
    state = next.state;
    for (const effect of next.effects) {
      effects.push(effect);
      if (effect.type === "deadline") {
        if (effect.afterMs === undefined) deadlines.delete(effect.name);
        else deadlines.set(effect.name, now + effect.afterMs);
      } else if (effect.type === "postpone") {
        for (const [name, due] of deadlines) {
          if (name !== "timeout") deadlines.set(name, due + effect.byMs);
        }
      } else if (effect.type === "look") {
        hear({ type: "screen", screen });
      }
    }
  };
  if (options.conversation === undefined) {
    const message = {
      ...(prompt === undefined ? {} : { text: prompt }),
      ...(inject === undefined ? {} : { way: inject }),
    };
    for (const input of onlyMessage(message)) hear(input);
  }
  hear({ type: "spawned" });
  return {
    hear,
    show: (text) => hear({ type: "terminal", bytes: new TextEncoder().encode(text) }),
    draw: (...lines) => {
      // Claude Code leaves the cursor on the caret of a dialog.
      const row = Math.max(0, lines.findLastIndex((line) => line.includes("❯")));
      const col = Math.max(0, (lines[row] ?? "").indexOf("❯"));
      screen = { lines, cursor: { row: row + 1, col: col + 1 } };
    },
    sleep: (ms) => {
      now += ms;
      hear({ type: "suspended", ms });
    },
    wait: (ms) => {
      const until = now + ms;
      for (;;) {
        const next = [...deadlines].sort(([, a], [, b]) => a - b)[0];
        if (next === undefined || next[1] > until) break;
        now = next[1];
        deadlines.delete(next[0]);
        hear({ type: "deadline", name: next[0] });
      }
      now = until;
    },
    now: () => now,
    state: () => state,
    effects,
    typed: () =>
      effects.filter((effect) => effect.type === "write")
        .map((effect) => new TextDecoder().decode(effect.bytes)).join(""),
    ending: () => effects.find((effect) => effect.type === "end")?.ending,
    signals: () =>
      effects.filter((effect) => effect.type === "kill")
        .map(({ signal, tree }) => tree ? `${signal} tree` : signal),
  };
}
