import { end } from "./ending.ts";
import type { Effect } from "../effect.ts";
import type { SessionState } from "../session_state.ts";
import { deadline, type Step } from "../step.ts";
import { overWhenIdle } from "./waits.ts";

/**
 * Whether nothing is known to come of what the turn is about: an Escape that was meant for the turn before may have hit
 * it. A child that has it in its queue puts it into its input box then, and one that calls the hooks of its prompt
 * forgets it; either is idle from then on, and writes nothing down (2.1.330).
 */
export function isLost({ shaken, recorded, phase, status }: SessionState): boolean {
  return shaken && !recorded && (phase === "entered" || phase === "working") &&
    status?.status === "idle";
}

/** Bounds the wait for a sign of a turn that may be lost. */
export function untilLost(state: SessionState): Effect {
  return isLost(state) ? overWhenIdle() : deadline("idle");
}

/** Says what is lost to another child: nobody knows what this one has in its input box. */
export function sayAgain(state: SessionState): Step {
  const { sent, taken, changes = {} } = state;
  return end({ ...state, sent: [...taken, ...sent], taken: [] }, {
    kind: "renewed",
    changes,
    lost: true,
  });
}
