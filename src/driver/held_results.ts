import { backgroundTasksOf, isShellsOnly } from "../session/background_wait.ts";
import type { HookPayload } from "../session/input.ts";

/**
 * What becomes of the result of a turn after its Stop hook: as in `claude -p` it is printed when the turn is over
 * though the run goes on, but held back as long as a subagent runs; undefined when it is the last.
 */
export function heldResults(stop: HookPayload): "held" | "printable" | undefined {
  const tasks = backgroundTasksOf(stop);
  if (tasks.length === 0) return undefined;
  return isShellsOnly(tasks) ? "printable" : "held";
}
