import { isVersionAtLeast } from "../../claude/versions/compare_versions.ts";
import type { HookPayload } from "../input.ts";
import { isJsonObject } from "../../json_object.ts";
import type { SessionState } from "../session_state.ts";
import { act, deadline, stay, type Step } from "../step.ts";

/** How long `claude -p` waits for subagents in the background after the last turn, unless told otherwise. */
const DEFAULT_BACKGROUND_CEILING_MS = 600_000;

/** How long `claude -p` before 2.1.330 waits for shells. */
const SHELL_GRACE_MS = 5000;

/** How long a shell may run in the background of `claude -p` since 2.1.330, unless its call says otherwise. */
const SHELL_LIMIT_MS = 600_000;

/** Time for a shell's end to be noticed. */
const LIMIT_GRACE_MS = 5000;

/** What a wait for background tasks depends on. */
export interface BackgroundWait {
  /** The tasks that the last Stop hook named. */
  readonly tasks: readonly HookPayload[];
  /** The version of Claude Code. */
  readonly version: string;
  /** The longest wait for subagents, in milliseconds; 0 for no limit. */
  readonly ceilingMs: number;
  /** The longest limit that a call gave its shell in the background, in milliseconds. */
  readonly shellLimitMs: number | undefined;
  /** For how long nothing but shells has been waited for already, in milliseconds. */
  readonly shellsOnlyMs: number;
}

/**
 * How much longer `claude -p` of that version waits for what goes on in the background once a turn has ended, in
 * milliseconds; undefined for as long as it takes.
 *
 * The ceiling counts from the end of the last turn; before 2.1.197 there is none. Up to 2.1.197, shells alone get 5 s
 * from when there was nothing else to wait for, whatever turns their ends start. Since 2.1.330 a shell is waited for as
 * long as it may run by its own limit, 10 minutes by default, even if the ceiling is lower. Measured with 2.1.168,
 * 2.1.197 and 2.1.330.
 */
export function backgroundWaitMs(wait: BackgroundWait): number | undefined {
  const { tasks, version, ceilingMs } = wait;
  const recent = isVersionAtLeast(version, "2.1.330");
  if (!recent && isShellsOnly(tasks)) return Math.max(0, SHELL_GRACE_MS - wait.shellsOnlyMs);
  if (ceilingMs === 0 || !isVersionAtLeast(version, "2.1.197")) return undefined;
  return recent && tasks.some(isShell)
    ? Math.max(ceilingMs, (wait.shellLimitMs ?? SHELL_LIMIT_MS) + LIMIT_GRACE_MS)
    : ceilingMs;
}

/**
 * Bounds the wait for tasks in the background after a turn, once there are no further messages: before that `claude -p`
 * lets them run (2.1.197 and 2.1.330).
 */
export function awaitBackground(state: SessionState): Step {
  const { backgroundStop, shellsOnlySince: since, version = "", waits, options } = state;
  if (state.open || !waits || backgroundStop === undefined) return stay(state);
  const tasks = backgroundTasksOf(backgroundStop);
  const shellsOnlySince = isShellsOnly(tasks) ? since ?? state.lifeAt : undefined;
  const waitMs = tasks.length === 0 ? 0 : backgroundWaitMs({
    tasks,
    version,
    ceilingMs: options.backgroundCeilingMs ?? DEFAULT_BACKGROUND_CEILING_MS,
    shellLimitMs: state.shellLimitMs,
    shellsOnlyMs: shellsOnlySince === undefined ? 0 : state.lifeAt - shellsOnlySince,
  });
  return act({ ...state, shellsOnlySince }, [deadline("background", waitMs)]);
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
