import type { Effect } from "./effect.ts";
import { deadline } from "./step.ts";

/** Keys are dropped by 2.1.269 before 150 ms of quiet. */
const QUIET_MS = 600;
const IDLE_MS = 3000;

/** Looks at the screen of a child that has not begun its turn, or waits for somebody, once it has been quiet. */
export function lookWhenQuiet(): Effect {
  return deadline("look", QUIET_MS);
}

/** Takes the turn for over if the child stays idle and no hook says anything. */
export function overWhenIdle(): Effect {
  return deadline("idle", IDLE_MS);
}
