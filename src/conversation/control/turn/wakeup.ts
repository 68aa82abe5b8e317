import { isJsonObject } from "../../../json_object.ts";
import type { Effect } from "../effect.ts";
import type { HookPayload } from "../input.ts";
import type { SessionState } from "../session_state.ts";
import { deadline } from "../step.ts";
import type { TranscriptSign } from "../transcript_sign.ts";

/** How long `claude -p` waits for the model to be woken after its time, or after the end of a turn that is later. */
const GRACE_MS = 120_000;

/** The session after a line of the transcript that may say when the model is woken. */
export function withWakeup(state: SessionState, { wakeup }: TranscriptSign): SessionState {
  if (wakeup === undefined || Number.isNaN(wakeup)) return state;
  return {
    ...state,
    wakeup: wakeup === "never" ? undefined : { at: state.lifeAt + wakeup },
  };
}

/**
 * Whether the Stop hook has named a prompt that waits for its time and comes once: which of them wakes the model, and is
 * waited for, is said by the transcript alone.
 */
export function mayBeWoken({ stop, options }: SessionState): boolean {
  return options.wakeless !== true && (oneTimers(stop)?.length ?? 0) > 0;
}

/** Whether the model is woken once the turn is over. A turn that failed has no hook that would name what waits. */
export function isToBeWoken({ wakeup, stop, options }: SessionState): boolean {
  return wakeup !== undefined && options.wakeless !== true && oneTimers(stop)?.length !== 0;
}

function oneTimers(stop: HookPayload | undefined): readonly unknown[] | undefined {
  const crons = stop?.["session_crons"];
  return Array.isArray(crons)
    ? crons.filter((cron) => isJsonObject(cron) && cron["recurring"] === false)
    : undefined;
}

/** Has a session in which there is nothing else to do wait for the model to be woken. */
export function withAwaitedWakeup(state: SessionState): SessionState {
  return state.wakeup === undefined
    ? state
    : { ...state, wakeup: { ...state.wakeup, awaited: true } };
}

/** Bounds that wait. */
export function overWhenNotWoken({ wakeup, lifeAt }: SessionState): readonly Effect[] {
  return wakeup?.awaited
    ? [deadline("background", Math.max(0, wakeup.at - lifeAt) + GRACE_MS)]
    : [];
}
