import { emitInit, newUuid } from "../emit_frames.ts";
import { apiUsage } from "../frames/assistant_frames.ts";
import type { OutputState, OutputStep } from "../output_state.ts";
import { NO_PARTIAL, type OpenAnswer, type PartialState, takeText } from "./answer_state.ts";
import {
  emitRequestStatus,
  emitStreamBreak,
  emitStreamEvent,
  forgetRequest,
  recordStreamed,
} from "./stream_frames.ts";
import type { ContentBlock } from "../../../claude/transcript/entry.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { StreamEvent } from "../../../claude/wire/message_frames.ts";

/**
 * The maximum number of completed messages whose late hooks are ignored. Hooks are late by milliseconds, and the model
 * gives fewer answers in that time.
 */
const MOST_CLOSED = 64;

/** Opens an answer with `message_start`. The answer has a made-up id while the API's id is unknown. */
export function startAnswer(
  step: OutputStep,
  { model, apiId, displayId, usage = {} }: {
    readonly model: string;
    readonly apiId?: string;
    readonly displayId?: string;
    readonly usage?: Readonly<Record<string, unknown>>;
  },
): void {
  emitInit(step);
  emitRequestStatus(step);
  const id = apiId ?? `msg_${newUuid(step).replaceAll("-", "")}`;
  recordStreamed(step, id);
  updatePartial(step, {
    open: {
      id,
      ...(apiId === undefined ? {} : { apiId }),
      ...(displayId === undefined ? {} : { displayId }),
      text: "",
      shown: 0,
      blocks: 0,
    },
    returned: new Set(),
  });
  emitEvent(step, {
    type: "message_start",
    message: {
      id,
      type: "message",
      role: "assistant",
      model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      // The final counts come with `message_delta`.
      usage: {
        input_tokens: 0,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        output_tokens: 0,
        ...usage,
      },
    },
  });
}

/** Emits more text of the open answer. */
export function emitText(step: OutputStep, text: string): void {
  if (!isWriting(step.state)) startText(step);
  const open = step.state.partial?.open;
  if (open?.writing === undefined) return;
  updatePartial(step, { open: { ...open, text: open.text + text } });
  emitDelta(step, open.writing, { type: "text_delta", text });
}

/** Whether the open answer has an open text block. */
export function isWriting({ partial }: OutputState): boolean {
  return partial?.open?.writing !== undefined;
}

/** Opens a text block. */
export function startText(step: OutputStep): void {
  const open = step.state.partial?.open;
  if (open === undefined) return;
  updatePartial(step, { open: { ...open, writing: open.blocks } });
  startBlock(step, { type: "text", text: "" });
}

/** Ends the open text block, if any. */
export function endText(step: OutputStep): void {
  const open = step.state.partial?.open;
  if (open?.writing === undefined) return;
  updatePartial(step, { open: { ...open, writing: undefined } });
  stopBlock(step, open.writing);
}

/** Emits all events of a complete block. Its `assistant` frame comes before the last event. */
export function emitBlock(
  step: OutputStep,
  { start, deltas, emitFrame }: {
    /** The block without the content that the deltas add. */
    readonly start: ContentBlock;
    readonly deltas: readonly Readonly<Record<string, unknown>>[];
    readonly emitFrame: () => void;
  },
): void {
  const index = step.state.partial?.open?.blocks ?? 0;
  startBlock(step, start);
  for (const delta of deltas) emitDelta(step, index, delta);
  emitFrame();
  stopBlock(step, index);
}

function startBlock(step: OutputStep, block: ContentBlock): void {
  const open = step.state.partial?.open;
  if (open === undefined) return;
  const { blocks: index } = open;
  updatePartial(step, { open: { ...open, blocks: index + 1 } });
  emitEvent(step, { type: "content_block_start", index, content_block: block });
}

function emitDelta(
  step: OutputStep,
  index: number,
  delta: Readonly<Record<string, unknown>>,
): void {
  emitEvent(step, { type: "content_block_delta", index, delta });
}

function stopBlock(step: OutputStep, index: number): void {
  emitEvent(step, { type: "content_block_stop", index });
}

/** Ends the open answer as the API does. Breaks it off if its stop reason is unknown. */
export function endAnswer(step: OutputStep): void {
  const open = step.state.partial?.open;
  if (open === undefined) return;
  const events = endEvents(open);
  if (events.length === 0) {
    breakOffAnswer(step);
    return;
  }
  endText(step);
  for (const event of events) emitEvent(step, event);
  close(step, open);
  updatePartial(step, { endsTurn: open.last?.message.stop_reason === "end_turn" });
}

/** Emits the end of an answer except `message_stop`, which comes after the result of its structured answer. */
export function endBeforeOutput(step: OutputStep): void {
  const open = step.state.partial?.open;
  if (open === undefined) return;
  const events = endEvents(open).filter(({ type }) => type !== "message_stop");
  endText(step);
  for (const event of events) emitEvent(step, event);
  const ended = step.state.partial?.open;
  if (ended !== undefined && events.length > 0) {
    updatePartial(step, { open: { ...ended, ends: true } });
  }
}

/** The pending events at the end of an answer; none if its stop reason is unknown. */
function endEvents({ last, ends }: OpenAnswer): readonly StreamEvent[] {
  const { message } = last ?? {};
  const reason = message?.stop_reason;
  if (typeof reason !== "string") return [];
  const stop = { type: "message_stop" };
  if (ends) return [stop];
  return [
    {
      type: "message_delta",
      delta: { stop_reason: reason, stop_sequence: message?.["stop_sequence"] ?? null },
      usage: deltaUsage(message?.usage),
    },
    stop,
  ];
}

/** The API sends `inference_geo` only with `message_start`. */
function deltaUsage(usage: JsonObject | null | undefined): JsonObject {
  const { inference_geo: _, ...others } = apiUsage(usage);
  return others;
}

/** Ends the open answer as broken off. */
export function breakOffAnswer(step: OutputStep): void {
  const open = step.state.partial?.open;
  if (open === undefined) return;
  endText(step);
  emitStreamBreak(step, {
    messageId: open.id,
    blockIndex: step.state.partial?.open?.blocks ?? 0,
  });
  close(step, open);
}

/** Forgets the open answer. A late hook may still report its text, which is then ignored. */
function close(step: OutputStep, { displayId, text }: OpenAnswer): void {
  const { open: _, ...partial } = step.state.partial ?? NO_PARTIAL;
  step.update({ partial });
  forgetRequest(step);
  if (displayId !== undefined) {
    forgetDisplayed(step, displayId);
    return;
  }
  if (text === "") return;
  const [first] = partial.displayed;
  if (first !== undefined && areSameText(text, takeText(first).texts.join(""))) {
    forgetDisplayed(step, first.id);
  } else {
    updatePartial(step, { undisplayed: [...partial.undisplayed, text].slice(-MOST_CLOSED) });
  }
}

/** Forgets a message that hooks report, and ignores later hooks of this message. */
export function forgetDisplayed(step: OutputStep, displayId: string): void {
  const { displayed, closed } = step.state.partial ?? NO_PARTIAL;
  updatePartial(step, {
    displayed: displayed.filter(({ id }) => id !== displayId),
    closed: [...closed, displayId].slice(-MOST_CLOSED),
  });
}

/** Whether one of two texts begins with the other. Hooks and lines may know only a part of a text. */
export function areSameText(one: string, other: string): boolean {
  return one.length < other.length ? other.startsWith(one) : one.startsWith(other);
}

function emitEvent(step: OutputStep, event: StreamEvent): void {
  emitStreamEvent(step, event, { messageId: step.state.partial?.open?.id });
}

/** Changes the state of partial messages, if the caller wants them. */
export function updatePartial(step: OutputStep, changes: Partial<PartialState>): void {
  const { partial } = step.state;
  if (partial !== undefined) step.update({ partial: { ...partial, ...changes } });
}
