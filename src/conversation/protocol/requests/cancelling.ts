import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, type Step } from "../../control/step.ts";
import { respond } from "../answering.ts";

/** Takes a message back that the child has not been given yet. */
export function onCancel(state: SessionState, request: ControlRequest): Step {
  const { message_uuid: uuid } = request.body;
  const message = typeof uuid === "string"
    ? state.queue.find((each) => each.uuid === uuid)
    : undefined;
  if (message === undefined) {
    return act(state, [respond(request, { response: { cancelled: false } })]);
  }
  return act({ ...state, queue: state.queue.filter((each) => each !== message) }, [
    { type: "cancelled", message },
    respond(request, {
      response: { cancelled: true, message_uuid: uuid },
    }),
  ]);
}
