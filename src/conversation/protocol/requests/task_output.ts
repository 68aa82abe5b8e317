import type { ControlRequest } from "../../../claude/wire/control.ts";
import type { SessionState } from "../../control/session_state.ts";
import { act, type Step } from "../../control/step.ts";
import { refuse } from "../answering.ts";
import { consult } from "./consulting.ts";

/** The request that asks for the end of what a shell in the background has written. */
export const TASK_OUTPUT = "get_task_output";

/** What ids of shells look like, with which those that have ended are known, too. */
const SHELL = /^b[\da-z]{8}$/u;

/** Has the file looked at that Claude Code keeps of a shell (2.1.330); of other tasks it says nothing. */
export function onTaskOutput(state: SessionState, request: ControlRequest): Step {
  const { task_id: task } = request.body;
  if (typeof task !== "string") {
    return act(state, [refuse(request, { error: `${TASK_OUTPUT}: task_id must be a string` })]);
  }
  if (!SHELL.test(task)) {
    return act(state, [refuse(request, {
      error: `${TASK_OUTPUT}: no shell or Monitor task with that task_id in this session`,
    })]);
  }
  return consult(state, request);
}
