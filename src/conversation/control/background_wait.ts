import type { HookPayload } from "./input.ts";
import { isJsonObject } from "../../json_object.ts";
import type { ControlStep } from "./control_step.ts";
import { deadline } from "./effect.ts";

/** How long `claude -p` waits for background subagents after the last turn by default, in milliseconds. */
const DEFAULT_BACKGROUND_CEILING_MS = 600_000;

/** How long a background shell of `claude -p` may run by default, in milliseconds. Its call can set another limit. */
const SHELL_LIMIT_MS = 600_000;

/** The time until the child notices a shell's end, in milliseconds. */
const LIMIT_GRACE_MS = 5000;

/** The facts on which a wait for background tasks depends. */
interface BackgroundWait {
  /** The tasks that the last Stop hook named. */
  readonly tasks: readonly HookPayload[];
  /** The maximum wait for subagents, in milliseconds; 0 for no limit. */
  readonly ceilingMs: number;
  /** The longest limit that a call gave its background shell, in milliseconds. */
  readonly shellLimitMs: number | undefined;
}

/**
 * How much longer `claude -p` waits for background tasks after a turn, in milliseconds; undefined for no limit.
 *
 * The ceiling counts from the end of the last turn. `claude -p` waits for a shell until the shell's own limit, by
 * default 10 minutes, even if the ceiling is lower.
 */
export function backgroundWaitMs(
  { tasks, ceilingMs, shellLimitMs = SHELL_LIMIT_MS }: BackgroundWait,
): number | undefined {
  if (ceilingMs === 0) return undefined;
  return tasks.some(isShell) ? Math.max(ceilingMs, shellLimitMs + LIMIT_GRACE_MS) : ceilingMs;
}

/**
 * Limits the wait for background tasks after a turn, once there are no further messages. Before that, `claude -p` lets
 * them run.
 */
export function awaitBackground(step: ControlStep): void {
  const { isOpen, backgroundStop, isOnlyBackground, options, shellLimitMs } = step.state;
  if (isOpen || !isOnlyBackground || backgroundStop === undefined) return;
  const tasks = backgroundTasksOf(backgroundStop);
  const ceilingMs = options.backgroundCeilingMs ?? DEFAULT_BACKGROUND_CEILING_MS;
  const waitMs = tasks.length === 0 ? 0 : backgroundWaitMs({ tasks, ceilingMs, shellLimitMs });
  step.emit(deadline("background", waitMs));
}

/** Whether only shells run in the background. */
export function isShellsOnly(tasks: readonly HookPayload[]): boolean {
  return tasks.every(isShell);
}

/** The background tasks that a Stop hook names. */
export function backgroundTasksOf(stop: HookPayload): readonly HookPayload[] {
  const tasks = stop["background_tasks"];
  return Array.isArray(tasks) ? tasks.filter(isJsonObject) : [];
}

function isShell({ type }: HookPayload): boolean {
  return type === "shell";
}
