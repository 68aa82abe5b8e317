import { hasCapability } from "../../claude/versions/profiles.ts";
import { type ControlResponse, type RequestId, requestIdField } from "../../claude/wire/control.ts";
import type { ControlStep } from "../control/control_step.ts";
import type { Answer, Effect } from "../control/effect.ts";
import type { HookPayload } from "../control/input.ts";
import type { SessionState } from "../control/session_state.ts";
import type { CallDecision } from "../model/shared_facts.ts";

type Success = Extract<ControlResponse, { readonly subtype: "success" }>;
type Failure = Extract<ControlResponse, { readonly subtype: "error" }>;

type Response = Extract<Effect, { readonly type: "respond" }>;

/** Answers a request of the caller with success. */
export function respond(
  request: RequestId,
  fields: Omit<Success, "subtype" | "request_id"> = {},
): Response {
  return {
    type: "respond",
    response: { subtype: "success", ...requestIdField(request), ...fields },
  };
}

/** Answers a request of the caller with an error. */
export function refuse(
  request: RequestId,
  fields: Omit<Failure, "subtype" | "request_id">,
): Response {
  return { type: "respond", response: { subtype: "error", ...requestIdField(request), ...fields } };
}

/** The code of an error in answers, in versions that have such codes. */
export function errorCode(
  { version }: Pick<SessionState, "version">,
  code: string,
): { readonly error_code?: string } {
  return hasCapability(version, "controlErrorCodes") ? { error_code: code } : {};
}

/** Answers a hook of the child. Without a reply, Claude Code's own rules decide. */
export function answerHook(id: string, reply?: HookPayload): Answer {
  return { type: "answer", id, ...(reply === undefined ? {} : { reply }) };
}

/** Makes a hook of the child forbid its event's action. */
export function veto(id: string): Answer {
  return { type: "answer", id, veto: true };
}

/**
 * Forbids the actions of the withdrawn questions. Only a hook that outlives Escape reads this answer. Without an
 * answer, the hook would never return to its agent. After an empty answer, Claude Code's rules would allow a call
 * without a decision.
 */
export function refuseWithdrawn(step: ControlStep): void {
  const { withdrawnHooks } = step.state;
  if (withdrawnHooks.length === 0) return;
  step.update({ withdrawnHooks: [] });
  step.emit(...withdrawnHooks.map(veto));
}

/**
 * Records the decision on a call, because the frame of its result shows the decision. A question without an id is not
 * about a call.
 */
export function recordDecision(step: ControlStep, id: unknown, decision: CallDecision): void {
  const { facts } = step.state;
  if (typeof id !== "string") return;
  step.update({ facts: { ...facts, decisions: new Map(facts.decisions).set(id, decision) } });
}
