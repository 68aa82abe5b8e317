import { isTextOf, type Message } from "../control/message.ts";
import type { ContentBlock, UserEntry } from "../../claude/transcript/entry.ts";
import type { Frame, LifecycleFrame } from "../../claude/wire/frame.ts";
import type { UserFrame } from "../../claude/wire/message_frames.ts";
import { parseTaskNotification } from "../../claude/transcript/task_notification.ts";
import { askedBy } from "./frames/frame_context.ts";
import {
  and,
  type FramesState,
  NOT_NAMED,
  type Told,
  told,
  withIds,
} from "./telling/frames_state.ts";

/** The caller sends a message: it is told of once the child has taken it; a second time it is only printed again. */
export function awaitMessage(state: FramesState, message: Message): Told {
  if (!message.repeated) {
    const next = { ...state, awaited: [...state.awaited, message] };
    // One that the child before has not taken was told of there.
    const isTold = message.uuid !== undefined &&
      state.options.before?.queued?.includes(message.uuid);
    return isTold ? told(next) : tellLifecycle(next, { messages: [message], states: ["queued"] });
  }
  const { state: next, made } = withIds(
    state,
    (newUuid): readonly Frame[] =>
      isPrintedAgain(message, state) ? [replayFrame(message, { state, uuid: newUuid() })] : [],
  );
  const again = told(next, made);
  return message.repeated === "before"
    ? and(again, (state) => tellLifecycle(state, { messages: [message], states: ["completed"] }))
    : again;
}

/** Whether another message is the same one. */
export function isSame({ text, uuid }: Message): (other: Message) => boolean {
  return (other) => other.text === text && other.uuid === uuid;
}

/** Where a message with such a text waits; a command has another one, and what a plain run is given may have. */
export function placeOf({ awaited, taken }: FramesState, text: string): number {
  const at = awaited.findIndex((message) => isTextOf(message, text));
  if (at >= 0 || taken.length > 0 || parseTaskNotification(text) !== undefined) return at;
  // An urgent command comes before messages that wait for longer.
  return awaited.findIndex((message) =>
    message.way !== undefined && (message.way !== "rendezvous" || message.command !== undefined)
  );
}

/** Emits that the child has taken a message, if the message has an id, and the message again with `--replay-user-messages`. */
export function tellMessage(
  state: FramesState,
  at: number,
  line: {
    readonly uuid?: string | undefined;
    readonly timestamp?: string | undefined;
    /** As what the child has taken it; absent where it was not the child that carried it out. */
    readonly text?: string | undefined;
  },
): Told {
  const message = state.awaited[at];
  if (message === undefined) return told(state);
  const { timestamp, text } = line;
  const isJoined = state.begun && state.spoken && !state.rested;
  const { state: next, made } = withIds(state, (newUuid): readonly Frame[] => {
    const started = lifecycle(message, { states: ["started"], state, newUuid });
    const again = isPrintedAgain(message, state)
      ? [replayFrame(message, { state, uuid: line.uuid ?? newUuid(), timestamp, text })]
      : [];
    return isJoined ? [...again, ...started] : [...started, ...again];
  });
  const taken = {
    ...next,
    awaited: next.awaited.toSpliced(at, 1),
    taken: [...next.taken, message],
    joined: isJoined ? [...next.joined, message] : next.joined,
  };
  // One that has joined is named where those before it have no id.
  const isNamed = isJoined && askedBy(taken).user_message_uuid === askedBy(state).user_message_uuid;
  return told(isNamed ? taken : { ...taken, named: NOT_NAMED }, made);
}

/** Whether somebody wants what is sent printed again; what is not the user's is not. */
function isPrintedAgain({ synthetic }: Message, { options }: FramesState): boolean {
  return options.replay === true && synthetic !== true;
}

/** What is told of a message, with what comes before `system/init` apart. */
export function parted(frames: readonly Frame[]) {
  return {
    lifecycle: frames.filter(isLifecycle),
    others: frames.filter((frame) => !isLifecycle(frame)),
  };
}

/** Whether a frame tells how far a message is. */
export function isLifecycle({ type }: Frame): boolean {
  return type === "command_lifecycle";
}

/**
 * Tells that a message has been taken back before the child was given it: of several with the same text and no id the last,
 * as the child has those before it.
 */
export function tellCancelled(state: FramesState, { uuid, text }: Message): Told {
  const at = state.awaited.findLastIndex((each) => each.uuid === uuid && each.text === text);
  const message = state.awaited[at];
  if (message === undefined) return told(state);
  const awaited = state.awaited.toSpliced(at, 1);
  return tellLifecycle({ ...state, awaited }, { messages: [message], states: ["cancelled"] });
}

/**
 * Tells that the messages of a turn have been answered, or that the caller has stopped it: `ahead` of its result those
 * that have become a part of it, and `behind` that the others.
 */
export function tellOver(
  before: FramesState,
  { stopped = false }: { readonly stopped?: boolean } = {},
): { readonly ahead: Told; readonly behind: (state: FramesState) => Told } {
  const { taken, joined } = before;
  const states = [stopped ? "cancelled" : "completed"] as const;
  const messages = taken.filter((message) => !joined.includes(message));
  return {
    ahead: tellLifecycle(before, { messages: joined, states }),
    behind: (state) =>
      and(
        tellLifecycle(state, { messages, states }),
        (state) => tellWoken({ ...state, woken: undefined }, { uuid: before.woken, states }),
      ),
  };
}

/** Tells that the child has taken a prompt that has waited for its time. */
export function tellTimed(
  state: FramesState,
  { uuid, wakeupSource }: UserEntry,
): Told {
  const { wakeupAt } = state;
  return tellWoken({ ...state, woken: uuid, wakeupAt: undefined, named: NOT_NAMED }, {
    uuid,
    states: ["started"],
    fields: {
      wakeup_source: String(wakeupSource),
      ...(wakeupAt === undefined ? {} : { scheduled_for: wakeupAt }),
    },
  });
}

function tellWoken(
  state: FramesState,
  { uuid, states, fields = {} }: {
    readonly uuid: string | undefined;
    readonly states: readonly LifecycleFrame["state"][];
    readonly fields?: Pick<LifecycleFrame, "wakeup_source" | "scheduled_for">;
  },
): Told {
  const { state: next, made } = withIds(
    state,
    (newUuid) => lifecycle({ uuid }, { states, state, newUuid, fields }),
  );
  return told(next, made);
}

function tellLifecycle(
  state: FramesState,
  { messages, states }: {
    readonly messages: readonly Message[];
    readonly states: readonly LifecycleFrame["state"][];
  },
): Told {
  const { state: next, made } = withIds(
    state,
    (newUuid) => messages.flatMap((message) => lifecycle(message, { states, state, newUuid })),
  );
  return told(next, made);
}

function lifecycle(
  { uuid }: { readonly uuid?: string | undefined },
  { states, state: { options }, newUuid, fields = {} }: {
    readonly states: readonly LifecycleFrame["state"][];
    readonly state: FramesState;
    readonly newUuid: () => string;
    readonly fields?: Pick<LifecycleFrame, "wakeup_source" | "scheduled_for">;
  },
): readonly LifecycleFrame[] {
  if (uuid === undefined) return [];
  return states.map((state) => ({
    type: "command_lifecycle",
    command_uuid: uuid,
    state,
    ...fields,
    uuid: newUuid(),
    session_id: options.sessionId,
  }));
}

/** A message, printed again; a command as what has become of it. */
function replayFrame(
  message: Message,
  { state: { options }, uuid, timestamp, text }: {
    readonly state: FramesState;
    readonly uuid: string;
    readonly timestamp?: string | undefined;
    readonly text?: string | undefined;
  },
): UserFrame {
  const isCommand = message.way !== undefined && message.command !== undefined;
  return {
    type: "user",
    message: {
      role: "user",
      content: isCommand && text !== undefined ? text : contentOf(message),
    },
    parent_tool_use_id: null,
    session_id: options.sessionId,
    uuid: message.uuid || uuid,
    ...(timestamp === undefined ? {} : { timestamp }),
    isReplay: true,
  };
}

/** What the caller has sent, in the form in which it was sent. */
function contentOf({ content, text }: Message): string | readonly ContentBlock[] {
  return typeof content === "string" || Array.isArray(content) ? content : [{ type: "text", text }];
}
