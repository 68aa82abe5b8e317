import { Step } from "../step.ts";
import type { SessionState } from "../control/session_state.ts";
import {
  asEffect,
  type ConversationEffect,
  type ConversationStep,
  framesOf,
} from "./conversation.ts";
import { isLifecycle } from "./messages.ts";
import type { OutputState, OutputStep } from "./output_state.ts";
import { isJsonObject } from "../../json_object.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { Task } from "./frames/tasks.ts";
import type { Activity } from "./output_options.ts";
import { emitSystemFrame } from "./emit_frames.ts";

/** Adds the frames to effects that report whether the session works, waits for the caller, or is idle. */
export function addActivity(
  step: ConversationStep,
  before: SessionState,
  effects: readonly ConversationEffect[],
): readonly ConversationEffect[] {
  const { session } = step.state;
  const output: OutputStep = new Step<OutputState, Frame>(step.state.frames);
  if (isAnswered(before, session)) emitActivity(output, "running");
  const answered = [...output.emitted];
  const around = framesWithActivity(output, effects.flatMap(framesOf));
  step.update({ frames: output.state });
  let place = 0;
  const changed = effects.flatMap((effect): readonly ConversationEffect[] => {
    const { length } = framesOf(effect);
    const frames = around.slice(place, place += length).flat();
    if (effect.type === "frame") return frames.map(asEffect);
    return [effect.type === "end" ? { ...effect, frames } : effect];
  });
  return [...answered.map(asEffect), ...changed];
}

/**
 * Returns one list for each frame of an input: the frame, and before or after it the frames that report the state of
 * the session. The session becomes `running` with the first frame of a message. It becomes `idle` after its last
 * result, and after the answer of the caller's message.
 */
export function framesWithActivity(
  step: OutputStep,
  frames: readonly Frame[],
): readonly (readonly Frame[])[] {
  let isOver = false;
  return frames.map((frame, at) =>
    step.capture(() => {
      if (isBeginning(frame, step.state)) emitActivity(step, "running");
      if (frame.type === "control_request" && frame.request.subtype === "can_use_tool") {
        emitActivity(step, "requires_action");
      }
      step.emit(frame);
      isOver = isLast(frame, step.state) || (isOver && !isInit(frame));
      if (isOver && !goesOn(frames.slice(at + 1))) emitActivity(step, "idle");
    })
  );
}

/**
 * Whether a frame starts activity of an idle session: the first frame of a message that the child takes, or of a
 * scheduled prompt that is due.
 */
function isBeginning(frame: Frame, { activity = "idle" }: OutputState): boolean {
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
 * Whether nothing is running after a frame: the frame is a result, or it cancels the only message. A background
 * subagent counts as running, because its end begins a turn unless it was stopped; a background shell does not count.
 * Once the caller has closed its input, a session works until a scheduled wake-up of the model.
 */
function isLast(
  frame: Frame,
  { awaited, hasInit, inputClosed, isBetweenTurns, tasks, wakeupAt }: OutputState,
): boolean {
  if (inputClosed && wakeupAt !== undefined) return false;
  const isAgent = ({ type, background }: Task) => type === "local_agent" && background;
  if (awaited.length > 0 || [...tasks.values()].some(isAgent)) return false;
  if (isLifecycle(frame)) return frame["state"] === "cancelled" && (isBetweenTurns || !hasInit);
  return frame.type === "result" ||
    (frame["subtype"] === "task_notification" && frame["status"] === "stopped" && isBetweenTurns);
}

/** Whether the next frames belong to the turn that has ended, or are the result of another turn. */
function goesOn(frames: readonly Frame[]): boolean {
  const [next] = frames;
  if (next !== undefined && isLifecycle(next) && next["state"] !== "queued") return true;
  const turn = frames.findIndex(isInit);
  return frames.slice(0, turn < 0 ? frames.length : turn).some(({ type }) => type === "result");
}

function isInit({ type, subtype }: Frame): boolean {
  return type === "system" && subtype === "init";
}

/** Emits the state of the session, if it has changed. */
export function emitActivity(step: OutputStep, activity: Activity): void {
  const { options: { activity: wanted }, activity: before } = step.state;
  if (before === activity) return;
  step.update({ activity });
  emitSystemFrame(step, "session_state_changed", {
    state: activity,
    ...(wanted === "shown" ? {} : { sdk_host_only: true }),
  });
}

/** Whether the caller has just decided the last open permission question. */
export function isAnswered(before: SessionState, after: SessionState): boolean {
  const isPermission = ({ kind }: { readonly kind: string }) => kind === "permission";
  return [...before.openQuestions.values()].some(isPermission) &&
    ![...after.openQuestions.values()].some(isPermission);
}
