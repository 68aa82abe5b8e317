import { isTextOf, type Message } from "../control/message.ts";
import type { ContentBlock, UserEntry } from "../../claude/transcript/entry.ts";
import type { Frame, LifecycleFrame } from "../../claude/wire/frame.ts";
import type { UserFrame } from "../../claude/wire/message_frames.ts";
import { parseTaskNotification } from "../../claude/transcript/task_notification.ts";
import { NOT_NAMED, type OutputState, type OutputStep } from "./output_state.ts";
import { messageIds } from "./frames/frame_context.ts";
import { newUuid } from "./emit_frames.ts";

/** Records a message of the caller, and emits that it is queued. A repeated message is only printed again. */
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
  // The previous child may have left the message in its queue: then the caller knows that it is queued.
  const isEmitted = message.uuid !== undefined && options.before?.queued?.includes(message.uuid);
  if (!isEmitted) emitLifecycle(step, [message], "queued");
}

/** Returns a function that compares a message with this one by text and id. */
export function isSame({ text, uuid }: Message): (other: Message) => boolean {
  return (other) => other.text === text && other.uuid === uuid;
}

/**
 * Returns the index of the awaited message to which a prompt's text belongs; -1 if there is none. Claude Code writes
 * another text for commands, and sometimes for the prompt of a plain run. Then it is the first such message.
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
  /** The text that the child took; absent if the child did not carry it out. */
  readonly text?: string | undefined;
}

/**
 * Records that the child has taken an awaited message. Emits that it was started, if it has an id, and the message
 * itself with `--replay-user-messages`.
 *
 * @param at the index of the message in the awaited messages
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
  // The next frames name a message that joins the turn only if the messages before it have no id.
  const isNamed = isJoined && messageIds(next).user_message_uuid === asked;
  step.update({
    ...next,
    awaited: awaited.toSpliced(at, 1),
    ...(isNamed ? {} : { named: NOT_NAMED }),
  });
}

/** Whether a message is printed again. `--replay-user-messages` does not print messages that the user has not sent. */
function isReplayed({ synthetic }: Message, { options }: OutputState): boolean {
  return options.replay === true && synthetic !== true;
}

/** Splits the frames of a message into lifecycle frames, which come before `system/init`, and others. */
export function splitLifecycle(frames: readonly Frame[]) {
  return {
    lifecycle: frames.filter(isLifecycle),
    others: frames.filter((frame) => !isLifecycle(frame)),
  };
}

/** Whether a frame reports the progress of a message. */
export function isLifecycle({ type }: Frame): boolean {
  return type === "command_lifecycle";
}

/**
 * Removes a message that the caller cancelled before the child got it. If several messages have the same text and no
 * id, it removes the last one, because the child already has the others.
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
 * Emits how the messages of a turn ended. Messages that joined the turn come before its result; all others, and the
 * prompt that woke the model, come after it.
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

/** Makes the lifecycle frame of a message. A message without an id has none. */
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

/** Makes the frame of a message that is printed again. A command is printed as the text that the child took. */
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

/** Returns the content of a message in the form in which the caller sent it. */
function contentOf({ content, text }: Message): string | readonly ContentBlock[] {
  return typeof content === "string" || Array.isArray(content) ? content : [{ type: "text", text }];
}
