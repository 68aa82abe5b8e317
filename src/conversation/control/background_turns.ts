import { awaitBackground, backgroundTasksOf } from "./background_wait.ts";
import { beginTurn } from "./begin_turn.ts";
import type { ControlStep } from "./control_step.ts";
import { restWithTasks } from "./deliver.ts";
import type { HookPayload } from "./input.ts";
import type { SessionState } from "./session_state.ts";
import { costDeadline } from "./wait_times.ts";

/** Adds woken subagents to a Stop hook's payload that does not name them: they woke when the hook began to run. */
export function withWoken(
  { childQueue: { wokenAgents } }: SessionState,
  stop: HookPayload,
): HookPayload {
  const tasks = backgroundTasksOf(stop);
  const others = wokenAgents.difference(new Set(tasks.map(({ id }) => id)));
  return others.size === 0 ? stop : {
    ...stop,
    background_tasks: [...tasks, ...[...others].map((id) => ({ id, type: "subagent" }))],
  };
}

/** Receives a Stop hook that names background tasks. Another turn and another Stop hook follow. */
export function onBackgroundStop(step: ControlStep, stop: HookPayload): void {
  const { awaitsPromptLine, hasEndLine } = step.state;
  const late = step.state.awaitsEarlierLines || (awaitsPromptLine && isFirstStop(stop));
  step.update({
    hasBackgroundTasks: true,
    backgroundStop: stop,
    requests: 0,
    awaitsPromptLine: true,
    awaitsEarlierLines: late,
  });
  // A background task starts a turn of its own.
  beginTurn(step);
  // A subagent may wake after the last line of the turn, which `onTranscript()` has received by then.
  if (hasEndLine && !awaitsPromptLine && !late) restWithTasks(step);
}

/** Whether no Stop hook has continued the turn before. */
export function isFirstStop(stop: HookPayload): boolean {
  return stop["stop_hook_active"] !== true;
}

/** Waits for a subagent that its shell's end has woken, as if the last Stop hook had named the subagent. */
export function onSubagentWoken(step: ControlStep): void {
  const { phase, stop, backgroundStop, stopHook, hasBackgroundTasks, isOnlyBackground, turns } =
    step.state;
  if (hasBackgroundTasks && backgroundStop !== undefined) {
    step.update({ backgroundStop: withWoken(step.state, backgroundStop) });
    if (isOnlyBackground) awaitBackground(step);
    return;
  }
  if (phase === "settling" && stop !== undefined) {
    onBackgroundStop(step, withWoken(step.state, stop));
    // The Stop hook is still answered once the cost is known.
    if (stopHook !== undefined) step.emit(costDeadline());
    return;
  }
  if (phase !== "resting" || turns === 0) return;
  step.update({
    hasBackgroundTasks: true,
    backgroundStop: withWoken(step.state, {}),
    awaitsPromptLine: true,
  });
  beginTurn(step);
  restWithTasks(step);
}
