import type { SessionState } from "../control/session_state.ts";
import { isJsonObject } from "../../json_object.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import { isLifecycle } from "./messages.ts";
import type { Task } from "./single/task.ts";
import { systemFrame } from "./single/system_frame.ts";
import type { Activity } from "./telling/frames_options.ts";
import { and, type FramesState, type Told, told, withIds } from "./telling/frames_state.ts";
import type { ConversationEffect, ConversationState } from "./conversation.ts";
import { asEffect, type ConversationStep, framesOf } from "./conversation_step.ts";

/** Adds the frames that tell what the session is at. */
export function withStates(before: ConversationState, step: ConversationStep): ConversationStep {
  const answered = isAnswered(before.session, step.state.session)
    ? tellActivity(step.state.frames, "running")
    : told(step.state.frames);
  const { state: frames, around } = withActivity(answered.state, step.effects.flatMap(framesOf));
  const left = [...around];
  const effects = step.effects.flatMap((effect): readonly ConversationEffect[] => {
    const said = left.splice(0, framesOf(effect).length).flat();
    if (effect.type === "frame") return said.map(asEffect);
    return [effect.type === "end" ? { ...effect, frames: said } : effect];
  });
  return {
    state: { ...step.state, frames },
    effects: [...answered.frames.map(asEffect), ...effects],
  };
}

/**
 * What one input makes of frames, one list for each: the frame, and around it those about the state of the session. It works from the first that is told of a message on, and rests once its last
 * result has been told, and that the message was answered.
 */
export function withActivity(
  before: FramesState,
  frames: readonly Frame[],
): { readonly state: FramesState; readonly around: readonly (readonly Frame[])[] } {
  let state = before;
  let isOver = false;
  const around = frames.map((frame, at) => {
    let said = told(state);
    if (isBeginning(frame, state)) said = and(said, (state) => tellActivity(state, "running"));
    if (frame.type === "control_request" && frame.request.subtype === "can_use_tool") {
      said = and(said, (state) => tellActivity(state, "requires_action"));
    }
    said = { ...said, frames: [...said.frames, frame] };
    isOver = isLast(frame, said.state) || (isOver && !isInit(frame));
    if (isOver && !goesOn(frames.slice(at + 1))) {
      said = and(said, (state) => tellActivity(state, "idle"));
    }
    state = said.state;
    return said.frames;
  });
  return { state, around };
}

/**
 * Whether a frame is told of a session that is at work: of one at rest, it is the first of a message that is taken, or of
 * a prompt whose time has come.
 */
function isBeginning(frame: Frame, { activity = "idle" }: FramesState): boolean {
  if (isInit(frame)) return true;
  if (activity !== "idle") return false;
  if (frame.type === "control_request") {
    const { request } = frame;
    return request.subtype === "hook_callback" && isJsonObject(request.input) &&
      request.input["hook_event_name"] === "UserPromptSubmit";
  }
  return isLifecycle(frame) &&
    (frame["state"] === "queued" || frame["wakeup_source"] !== undefined);
}

/**
 * Whether nothing is under way behind a frame: a result, or that the only message was taken back. A subagent in the
 * background is under way, whose end begins a turn unless it was stopped; a shell is not. Once the caller says no more, a
 * session works until the model is woken that is to be.
 */
function isLast(
  frame: Frame,
  { awaited, begun, heardOut, rested, tasks, wakeupAt }: FramesState,
): boolean {
  if (heardOut && wakeupAt !== undefined) return false;
  const isAgent = ({ type, background }: Task) => type === "local_agent" && background;
  if (awaited.length > 0 || [...tasks.values()].some(isAgent)) return false;
  if (isLifecycle(frame)) return frame["state"] === "cancelled" && (rested || !begun);
  return frame.type === "result" ||
    (frame["subtype"] === "task_notification" && frame["status"] === "stopped" && rested);
}

/** Whether what follows belongs to a turn that is over, or is the result of another one. */
function goesOn(frames: readonly Frame[]): boolean {
  const [next] = frames;
  if (next !== undefined && isLifecycle(next) && next["state"] !== "queued") return true;
  const turn = frames.findIndex(isInit);
  return frames.slice(0, turn < 0 ? frames.length : turn).some(({ type }) => type === "result");
}

function isInit({ type, subtype }: Frame): boolean {
  return type === "system" && subtype === "init";
}

/** Tells what the session is at, if that is news. */
export function tellActivity(state: FramesState, activity: Activity): Told {
  const { options: { sessionId, activity: wanted } } = state;
  if (state.activity === activity) return told(state);
  const { state: next, made } = withIds(
    state,
    (newUuid) =>
      systemFrame(
        "session_state_changed",
        { state: activity, ...(wanted === "shown" ? {} : { sdk_host_only: true }) },
        { sessionId, newUuid },
      ),
  );
  return told({ ...next, activity }, [made]);
}

/** Whether the last permission that was asked for has been decided. */
export function isAnswered(before: SessionState, after: SessionState): boolean {
  const isPermission = ({ kind }: { readonly kind: string }) => kind === "permission";
  return [...before.asked.values()].some(isPermission) &&
    ![...after.asked.values()].some(isPermission);
}
