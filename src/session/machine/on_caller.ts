import { onCallerGone } from "../control/asking.ts";
import { abort, end } from "../ending.ts";
import { handOver } from "../handing_over.ts";
import { enqueued, type Message } from "../message.ts";
import type { SessionState } from "../session_state.ts";
import { act, stay, type Step } from "../step.ts";
import { overAtOnce } from "../turn_end.ts";

/** The caller sends a message. */
export function onMessage(state: SessionState, message: Message): Step {
  if (message.repeated) return stay(state);
  const next = { ...state, queue: enqueued(state.queue, message) };
  if (state.ending !== undefined) return stay(next);
  return message.priority === "now" && state.phase === "working" ? abort(next) : handOver(next);
}

/** There are no further messages: what has been sent is still answered. */
export function onClosed(state: SessionState): Step {
  const { state: next, effects } = onCallerGone({ ...state, open: false });
  if (state.ending !== undefined) return act(next, effects);
  const over = (state.phase === "settling" ? overAtOnce(next) : undefined) ?? handOver(next);
  return act(over.state, [...effects, ...over.effects]);
}

/** What the caller sends cannot be understood: nothing that follows could be trusted, so that nothing is done any more. */
export function onUnreadable(state: SessionState, reason: string): Step {
  const next = { ...state, open: false, queue: [] };
  return state.ending === undefined ? end(next, { kind: "unreadable", reason }) : stay(next);
}
