import { awaitBackground, backgroundTasksOf } from "./background_wait.ts";
import { began } from "./begin_turn.ts";
import { restWithTasks } from "./deliver.ts";
import type { HookPayload } from "./input.ts";
import type { SessionState } from "./session_state.ts";
import { act, stay, type Step } from "./step.ts";
import { overWhenPriced } from "./wait_times.ts";

/** A Stop with the subagents that are at work again and that it does not name: they were woken as its hook began to run. */
export function withWoken({ childQueue: { woken } }: SessionState, stop: HookPayload): HookPayload {
  const tasks = backgroundTasksOf(stop);
  const others = woken.difference(new Set(tasks.map(({ id }) => id)));
  return others.size === 0 ? stop : {
    ...stop,
    background_tasks: [...tasks, ...[...others].map((id) => ({ id, type: "subagent" }))],
  };
}

/** A Stop with tasks in the background: another turn follows, and another Stop. */
export function onBackgroundStop(state: SessionState, stop: HookPayload): Step {
  const { unasked } = state;
  const late = state.late || (unasked && isFirstStop(stop));
  // A task in the background starts a turn of its own.
  const working = began({
    ...state,
    background: true,
    backgroundStop: stop,
    requests: 0,
    unasked: true,
    late,
  });
  // On a busy machine the transcript may tell the end of the turn first.
  const isTold = state.summed && !unasked && !late;
  const resting = isTold ? restWithTasks(working.state) : stay(working.state);
  return act(resting.state, [...working.effects, ...resting.effects]);
}

/** Whether no Stop hook has made the turn go on before. */
export function isFirstStop(stop: HookPayload): boolean {
  return stop["stop_hook_active"] !== true;
}

/** The end of its shell has a subagent at work again: it is waited for as if the last Stop had named it. */
export function onWoken(state: SessionState): Step {
  const { phase, stop, backgroundStop, stopHook, background, waits, turns } = state;
  if (background && backgroundStop !== undefined) {
    const next = { ...state, backgroundStop: withWoken(state, backgroundStop) };
    return waits ? awaitBackground(next) : stay(next);
  }
  if (phase === "settling" && stop !== undefined) {
    const next = onBackgroundStop(state, withWoken(state, stop));
    // Its hook is still answered once its price is known.
    return stopHook === undefined ? next : act(next.state, [...next.effects, overWhenPriced()]);
  }
  if (phase !== "resting" || turns === 0) return stay(state);
  const working = began({
    ...state,
    background: true,
    backgroundStop: withWoken(state, {}),
    unasked: true,
  });
  const resting = restWithTasks(working.state);
  return act(resting.state, [...working.effects, ...resting.effects]);
}
