import { hasCapability } from "../../claude/versions/profiles.ts";
import { type ControlResponse, givenId, type RequestId } from "../../claude/wire/control.ts";
import type { Answer, CallDecision, ChildChanges, Effect } from "../control/effect.ts";
import type { HookPayload } from "../control/input.ts";
import type { SessionState } from "../control/session_state.ts";
import { act, type Step } from "../control/step.ts";

type Success = Extract<ControlResponse, { readonly subtype: "success" }>;
type Failure = Extract<ControlResponse, { readonly subtype: "error" }>;

type Responded = Extract<Effect, { readonly type: "respond" }>;

/** A request was carried out. */
export function respond(
  request: RequestId,
  answer: Omit<Success, "subtype" | "request_id"> = {},
): Responded {
  return { type: "respond", response: { subtype: "success", ...givenId(request), ...answer } };
}

/** A request was not carried out. */
export function refuse(
  request: RequestId,
  why: Omit<Failure, "subtype" | "request_id">,
): Effect {
  return { type: "respond", response: { subtype: "error", ...givenId(request), ...why } };
}

/** Answers a hook of the child. */
export function answer(id: string, reply?: HookPayload): Answer {
  return { type: "answer", id, ...(reply === undefined ? {} : { reply }) };
}

/** Has a hook of the child forbid what its event is about. */
export function veto(id: string): Answer {
  return { type: "answer", id, veto: true };
}

/**
 * Forbids what the withdrawn questions were about. Only a hook that outlives Escape still reads this: without an answer it
 * would hold up its agent for ever, and with an empty one Claude Code's rules would allow a call that nobody has judged.
 */
export function refuseWithdrawn(state: SessionState): Step {
  return act({ ...state, withdrawn: [] }, state.withdrawn.map(veto));
}

/** What has been decided of a call, if it is about one. */
export function decided(
  toolUseId: string | undefined,
  decision: CallDecision,
): readonly Effect[] {
  return toolUseId === undefined ? [] : [{ type: "decided", toolUseId, decision }];
}

/** The session with what the caller wants to be otherwise from the next message on. */
export function changed(state: SessionState, changes: ChildChanges): SessionState {
  const { flagSettings, switched, ...others } = changes;
  const { chosenModel, ...earlier } = state.changes ?? {};
  // The name of a model that is chosen no more is nobody's.
  const before = {
    ...earlier,
    ...(chosenModel === undefined || changes.model !== undefined ? {} : { chosenModel }),
  };
  return {
    ...state,
    changes: {
      ...before,
      ...others,
      ...(flagSettings === undefined
        ? {}
        : { flagSettings: { ...before.flagSettings, ...flagSettings } }),
      ...(switched === undefined ? {} : { switched: { ...before.switched, ...switched } }),
    },
  };
}

/** The code of an error in answers, as far as the version has codes. */
export function errorCode(
  { version }: Pick<SessionState, "version">,
  code: string,
): { readonly error_code?: string } {
  return hasCapability(version, "controlErrorCodes") ? { error_code: code } : {};
}

/** Whether a turn is under way, or has been. */
export function hasBegun({ phase, turns }: Pick<SessionState, "phase" | "turns">): boolean {
  return turns > 0 || phase === "working" || phase === "settling";
}
