import type { HookPayload } from "./input.ts";
import { isJsonObject } from "../../json_object.ts";
import type { ControlStep } from "./control_step.ts";
import { deadline } from "./effect.ts";

/** How long `claude -p` waits for subagents in the background after the last turn, unless told otherwise. */
const DEFAULT_BACKGROUND_CEILING_MS = 600_000;

/** How long a shell may run in the background of `claude -p`, unless its call says otherwise. */
const SHELL_LIMIT_MS = 600_000;

/** Time for a shell's end to be noticed. */
const LIMIT_GRACE_MS = 5000;

/** What a wait for background tasks depends on. */
interface BackgroundWait {
  /** The tasks that the last Stop hook named. */
  readonly tasks: readonly HookPayload[];
  /** The longest wait for subagents, in milliseconds; 0 for no limit. */
  readonly ceilingMs: number;
  /** The longest limit that a call gave its shell in the background, in milliseconds. */
  readonly shellLimitMs: number | undefined;
}

/**
 * How much longer `claude -p` waits for what goes on in the background once a turn has ended, in milliseconds; undefined
 * for as long as it takes.
 *
 * The ceiling counts from the end of the last turn. A shell is waited for as long as it may run by its own limit, 10
 * minutes by default, even if the ceiling is lower.
 */
export function backgroundWaitMs(
  { tasks, ceilingMs, shellLimitMs = SHELL_LIMIT_MS }: BackgroundWait,
): number | undefined {
  if (ceilingMs === 0) return undefined;
  return tasks.some(isShell) ? Math.max(ceilingMs, shellLimitMs + LIMIT_GRACE_MS) : ceilingMs;
}

/**
 * Bounds the wait for tasks in the background after a turn, once there are no further messages: before that `claude -p`
 * lets them run.
 */
export function awaitBackground(step: ControlStep): void {
  const { isOpen, backgroundStop, isOnlyBackground, options, shellLimitMs } = step.state;
  if (isOpen || !isOnlyBackground || backgroundStop === undefined) return;
  const tasks = backgroundTasksOf(backgroundStop);
  const ceilingMs = options.backgroundCeilingMs ?? DEFAULT_BACKGROUND_CEILING_MS;
  const waitMs = tasks.length === 0 ? 0 : backgroundWaitMs({ tasks, ceilingMs, shellLimitMs });
  step.emit(deadline("background", waitMs));
}

/** Whether nothing but shells runs in the background. */
export function isShellsOnly(tasks: readonly HookPayload[]): boolean {
  return tasks.every(isShell);
}

/** The tasks that a Stop hook names as running in the background. */
export function backgroundTasksOf(stop: HookPayload): readonly HookPayload[] {
  const tasks = stop["background_tasks"];
  return Array.isArray(tasks) ? tasks.filter(isJsonObject) : [];
}

function isShell({ type }: HookPayload): boolean {
  return type === "shell";
}
