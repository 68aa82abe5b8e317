import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { Message } from "../../control/message.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, andThen, stay, type Step } from "../../control/step.ts";
import { stopTurn } from "../../control/turn/aborting.ts";
import { untakenMessages } from "../../control/turn/taking.ts";
import { refuseWithdrawn, respond } from "../answering.ts";
import { withdraw } from "../questions/unanswered.ts";

/**
 * Stops the turn under way. The answer names the messages that are still to be answered, and the caller may have them
 * taken back: those that have been given to the child are its own by then.
 */
export function onInterrupt(before: SessionState, request: ControlRequest): Step {
  const withdrawn = withdraw(before);
  const stopped = stopWithdrawn(withdrawn.state);
  const cancels = request.body["cancel_queued"] === true;
  const { queue } = stopped.state;
  const cancelled = cancels ? queue.filter(({ stopped }) => !stopped) : [];
  const state: SessionState = cancels
    ? { ...stopped.state, queue: queue.filter(({ stopped }) => stopped) }
    : stopped.state;
  const response = {
    still_queued: uuidsOf(untakenMessages(state).filter(({ stopped }) => !stopped)),
    ...(cancels ? { cancelled: uuidsOf(cancelled) } : {}),
  };
  return act(state, [
    ...withdrawn.effects,
    ...cancelled.map((message) => ({ type: "cancelled", message } as const)),
    respond(request, { response }),
    ...stopped.effects,
  ]);
}

/** Stops the turn; where no Escape will end the withdrawn hooks, they are answered at once. */
function stopWithdrawn(state: SessionState): Step {
  return andThen(
    stopTurn(state),
    (next) => next.phase === "aborting" ? stay(next) : refuseWithdrawn(next),
  );
}

function uuidsOf(messages: readonly Message[]): readonly string[] {
  return messages.flatMap(({ uuid }) => uuid ?? []);
}

/**
 * Ends the conversation: the turn under way, or that of the next message, is stopped, and other messages are not
 * answered any more.
 */
export function onEndSession(before: SessionState, request: ControlRequest): Step {
  const withdrawn = withdraw({ ...before, dismissed: true });
  const stopped = stopWithdrawn(withdrawn.state);
  const { state } = stopped;
  const queue = state.queue.filter(({ stopped }) => stopped);
  return act({ ...state, queue }, [
    respond(request),
    ...withdrawn.effects,
    ...stopped.effects,
  ]);
}
