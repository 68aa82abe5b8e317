import { isTextOf, type Message } from "../control/message.ts";
import type { ContentBlock, UserEntry } from "../../claude/transcript/entry.ts";
import type { Frame, LifecycleFrame } from "../../claude/wire/frame.ts";
import type { UserFrame } from "../../claude/wire/message_frames.ts";
import { parseTaskNotification } from "../../claude/transcript/task_notification.ts";
import { NOT_NAMED, type OutputState, type OutputStep } from "./output_state.ts";
import { messageIds } from "./frames/frame_context.ts";
import { newUuid } from "./emit_frames.ts";

/** Records a message of the caller, and emits that it is queued. One that is repeated is only printed again. */
export function receiveMessage(step: OutputStep, message: Message): void {
  const { awaited, options } = step.state;
  if (message.repeated) {
    if (isReplayed(message, step.state)) {
      step.emit(replayFrame(step, message, { uuid: newUuid(step) }));
    }
    if (message.repeated === "before") emitLifecycle(step, [message], "completed");
    return;
  }
  step.update({ awaited: [...awaited, message] });
  // The child before this one may have left it: then the caller knows that it is queued.
  const isEmitted = message.uuid !== undefined && options.before?.queued?.includes(message.uuid);
  if (!isEmitted) emitLifecycle(step, [message], "queued");
}

/** Returns a function that compares a message with this one by text and id. */
export function isSame({ text, uuid }: Message): (other: Message) => boolean {
  return (other) => other.text === text && other.uuid === uuid;
}

/**
 * Returns the place among the awaited messages of the one that a prompt's text is of; -1 if there is none. Claude Code
 * writes commands, and may write what a plain run was given, as another text: then it is the first such message.
 */
export function placeOf(
  { awaited, taken }: Pick<OutputState, "awaited" | "taken">,
  text: string,
): number {
  const at = awaited.findIndex((message) => isTextOf(message, text));
  if (at >= 0 || taken.length > 0 || parseTaskNotification(text) !== undefined) return at;
  // An urgent command comes before messages that have waited longer.
  return awaited.findIndex((message) =>
    message.way !== undefined && (message.way !== "rendezvous" || message.command !== undefined)
  );
}

/** A line of the transcript that shows a message. */
interface MessageLine {
  readonly uuid?: string | undefined;
  readonly timestamp?: string | undefined;
  /** The text that the child took; absent where the child did not carry it out. */
  readonly text?: string | undefined;
}

/**
 * Records that the child has taken an awaited message, and emits it: that it was started, if it has an id, and the message
 * itself with `--replay-user-messages`.
 *
 * @param at its place among the awaited messages
 */
export function takeMessage(step: OutputStep, at: number, line: MessageLine): void {
  const { awaited, taken, joined, hasInit, hasLinesSincePrompt, isBetweenTurns } = step.state;
  const message = awaited[at];
  if (message === undefined) return;
  const isJoined = hasInit && hasLinesSincePrompt && !isBetweenTurns;
  const started = lifecycleFrames(step, message, "started");
  const again = isReplayed(message, step.state)
    ? [replayFrame(step, message, { ...line, uuid: line.uuid ?? newUuid(step) })]
    : [];
  step.emit(...(isJoined ? [...again, ...started] : [...started, ...again]));
  const asked = messageIds({ taken, joined }).user_message_uuid;
  const next = {
    taken: [...taken, message],
    joined: isJoined ? [...joined, message] : joined,
  };
  // A message that joins the turn is named by the next frames only where those before it have no id.
  const isNamed = isJoined && messageIds(next).user_message_uuid === asked;
  step.update({
    ...next,
    awaited: awaited.toSpliced(at, 1),
    ...(isNamed ? {} : { named: NOT_NAMED }),
  });
}

/** Whether a message is to be printed again: `--replay-user-messages` does not print what the user has not sent. */
function isReplayed({ synthetic }: Message, { options }: OutputState): boolean {
  return options.replay === true && synthetic !== true;
}

/** Takes the frames of a message apart: lifecycle frames come before `system/init`. */
export function splitLifecycle(frames: readonly Frame[]) {
  return {
    lifecycle: frames.filter(isLifecycle),
    others: frames.filter((frame) => !isLifecycle(frame)),
  };
}

/** Whether a frame reports how far a message is. */
export function isLifecycle({ type }: Frame): boolean {
  return type === "command_lifecycle";
}

/**
 * Removes a message that the caller took back before the child got it. Of several with the same text and no id it is the
 * last, as the child has those before it.
 */
export function cancelMessage(step: OutputStep, { uuid, text }: Message): void {
  const { awaited } = step.state;
  const at = awaited.findLastIndex((each) => each.uuid === uuid && each.text === text);
  const message = awaited[at];
  if (message === undefined) return;
  step.update({ awaited: awaited.toSpliced(at, 1) });
  emitLifecycle(step, [message], "cancelled");
}

/**
 * Emits how the messages of a turn ended, around the result of the turn: messages that joined it before the result, the
 * others, and the prompt with which the model was woken, after it.
 *
 * @param options.stopped whether the caller has stopped the turn
 */
export function completeMessages<Result>(
  step: OutputStep,
  { stopped = false }: { readonly stopped?: boolean },
  emitResult: () => Result,
): Result {
  const { taken, joined, wakeupPrompt } = step.state;
  const state = stopped ? "cancelled" : "completed";
  emitLifecycle(step, joined, state);
  const result = emitResult();
  emitLifecycle(step, taken.filter((message) => !joined.includes(message)), state);
  step.update({ wakeupPrompt: undefined });
  step.emit(...lifecycleFrames(step, { uuid: wakeupPrompt }, state));
  return result;
}

/** Emits that the child has taken a prompt that it had scheduled for itself. */
export function takeScheduledPrompt(step: OutputStep, { uuid, wakeupSource }: UserEntry): void {
  const { wakeupAt } = step.state;
  step.update({ wakeupPrompt: uuid, wakeupAt: undefined, named: NOT_NAMED });
  step.emit(...lifecycleFrames(step, { uuid }, "started", {
    wakeup_source: String(wakeupSource),
    ...(wakeupAt === undefined ? {} : { scheduled_for: wakeupAt }),
  }));
}

function emitLifecycle(
  step: OutputStep,
  messages: readonly Message[],
  state: LifecycleFrame["state"],
): void {
  for (const message of messages) step.emit(...lifecycleFrames(step, message, state));
}

/** Makes the lifecycle frame of a message; none for a message without an id. */
function lifecycleFrames(
  step: OutputStep,
  { uuid }: { readonly uuid?: string | undefined },
  state: LifecycleFrame["state"],
  fields: Pick<LifecycleFrame, "wakeup_source" | "scheduled_for"> = {},
): readonly LifecycleFrame[] {
  if (uuid === undefined) return [];
  return [{
    type: "command_lifecycle",
    command_uuid: uuid,
    state,
    ...fields,
    uuid: newUuid(step),
    session_id: step.state.options.sessionId,
  }];
}

/** Makes the frame of a message that is printed again; a command is printed as the text that the child took. */
function replayFrame(
  step: OutputStep,
  message: Message,
  { uuid, timestamp, text }: MessageLine & { readonly uuid: string },
): UserFrame {
  const isCommand = message.way !== undefined && message.command !== undefined;
  return {
    type: "user",
    message: {
      role: "user",
      content: isCommand && text !== undefined ? text : contentOf(message),
    },
    parent_tool_use_id: null,
    session_id: step.state.options.sessionId,
    uuid: message.uuid || uuid,
    ...(timestamp === undefined ? {} : { timestamp }),
    isReplay: true,
  };
}

/** Returns what the caller has sent, in the form in which it was sent. */
function contentOf({ content, text }: Message): string | readonly ContentBlock[] {
  return typeof content === "string" || Array.isArray(content) ? content : [{ type: "text", text }];
}
