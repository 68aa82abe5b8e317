import { begin } from "../telling/beginning.ts";
import { apiUsage } from "../frames/assistant_frames.ts";
import {
  and,
  type FramesState,
  type Told,
  told,
  withIds,
  withStreamed,
} from "../telling/frames_state.ts";
import {
  NO_PARTS,
  type OpenAnswer,
  type PartialState,
  takeText,
} from "../telling/partial_state.ts";
import { forgetRequest, sayAbandoned, sayEvent, tellRequest } from "./stream_frames.ts";
import type { ContentBlock } from "../../../claude/transcript/entry.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { StreamEvent } from "../../../claude/wire/message_frames.ts";

/** A late hook is late by milliseconds: no more messages than these can be emitted in that time. */
const MOST_CLOSED = 64;

/** Begins an answer: with the id of the API where it is known. */
export function startAnswer(
  state: FramesState,
  { model, apiId, displayId, usage = {} }: {
    readonly model: string;
    readonly apiId?: string;
    readonly displayId?: string;
    readonly usage?: Readonly<Record<string, unknown>>;
  },
): Told {
  return and(and(begin(state), tellRequest), (state) => {
    const { state: next, made } = withIds(
      state,
      (newUuid) => apiId ?? `msg_${newUuid().replaceAll("-", "")}`,
    );
    const open: OpenAnswer = {
      id: made,
      ...(apiId === undefined ? {} : { apiId }),
      ...(displayId === undefined ? {} : { displayId }),
      text: "",
      shown: 0,
      blocks: 0,
    };
    const begun = changed(withStreamed(next, made), { open, returned: new Set() });
    return sayOpen(begun, {
      type: "message_start",
      message: {
        id: made,
        type: "message",
        role: "assistant",
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        // What is known of it is told with `message_delta`.
        usage: {
          input_tokens: 0,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          output_tokens: 0,
          ...usage,
        },
      },
    });
  });
}

/** Tells more text of the answer that is open. */
export function tellDelta(before: FramesState, text: string): Told {
  const begun = isWriting(before) ? told(before) : startText(before);
  return and(begun, (state) => {
    const open = state.partial?.open;
    if (open?.writing === undefined) return told(state);
    const next = withOpen(state, { ...open, text: open.text + text });
    return sayDelta(next, { index: open.writing, delta: { type: "text_delta", text } });
  });
}

/** Whether a text of the answer is open. */
export function isWriting({ partial }: FramesState): boolean {
  return partial?.open?.writing !== undefined;
}

/** Begins a text. */
export function startText(state: FramesState): Told {
  const open = state.partial?.open;
  if (open === undefined) return told(state);
  return startBlock(
    withOpen(state, { ...open, writing: open.blocks }),
    { type: "text", text: "" },
  );
}

/** Ends the text that is open, if one is. */
export function endText(state: FramesState): Told {
  const open = state.partial?.open;
  if (open?.writing === undefined) return told(state);
  return stopBlock(withOpen(state, { ...open, writing: undefined }), open.writing);
}

/** Tells a block that is known whole, with its frame before its end. */
export function tellWhole(
  state: FramesState,
  { block, deltas, show }: {
    readonly block: ContentBlock;
    readonly deltas: readonly Readonly<Record<string, unknown>>[];
    readonly show: (state: FramesState) => Told;
  },
): Told {
  const index = state.partial?.open?.blocks ?? 0;
  const written = deltas.reduce(
    (said, delta) => and(said, (state) => sayDelta(state, { index, delta })),
    startBlock(state, block),
  );
  return and(and(written, show), (state) => stopBlock(state, index));
}

function startBlock(state: FramesState, block: ContentBlock): Told {
  const open = state.partial?.open;
  if (open === undefined) return told(state);
  const { blocks: index } = open;
  return sayOpen(
    withOpen(state, { ...open, blocks: index + 1 }),
    { type: "content_block_start", index, content_block: block },
  );
}

function sayDelta(
  state: FramesState,
  told: { readonly index: number; readonly delta: Readonly<Record<string, unknown>> },
): Told {
  return sayOpen(state, { type: "content_block_delta", ...told });
}

function stopBlock(state: FramesState, index: number): Told {
  return sayOpen(state, { type: "content_block_stop", index });
}

/** Ends an answer as the API does. */
export function endAnswer(state: FramesState): Told {
  const open = state.partial?.open;
  if (open === undefined) return told(state);
  const events = endOf(open);
  if (events.length === 0) return abandon(state);
  const rests = open.last?.message.stop_reason === "end_turn";
  return and(tellEvents(state, events), (state) => told(changed(close(state, open), { rests })));
}

/** Tells how an answer ends, as far as that comes before the result of the structured one which it gives. */
export function endBeforeOutput(state: FramesState): Told {
  const open = state.partial?.open;
  if (open === undefined) return told(state);
  const events = endOf(open).filter(({ type }) => type !== "message_stop");
  return and(tellEvents(state, events), (state) => {
    const { open } = state.partial ?? NO_PARTS;
    return told(
      open === undefined || events.length === 0 ? state : withOpen(state, { ...open, ends: true }),
    );
  });
}

/** The events with which an answer ends that have not been told; none where it is not known how it ends. */
function endOf({ last, ends }: OpenAnswer): readonly StreamEvent[] {
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

function tellEvents(state: FramesState, events: readonly StreamEvent[]): Told {
  return events.reduce(
    (said, event) => and(said, (state) => sayOpen(state, event)),
    endText(state),
  );
}

/** Where a request was answered, the API says at the beginning, and Claude Code notes an empty name where it does not. */
function deltaUsage(usage: JsonObject | null | undefined): JsonObject {
  const { inference_geo: _, ...others } = apiUsage(usage);
  return others;
}

/** Ends an answer that breaks off; the stream says where. */
export function abandon(state: FramesState): Told {
  const open = state.partial?.open;
  if (open === undefined) return told(state);
  const stopped = and(
    endText(state),
    (state) => sayAbandoned(state, { of: open.id, at: state.partial?.open?.blocks ?? 0 }),
  );
  return and(stopped, (state) => told(close(state, open)));
}

/** Nothing more is told of an answer, even if hooks tell of it later. */
function close(state: FramesState, { displayId, text }: OpenAnswer): FramesState {
  const { open: _, ...partial } = state.partial ?? NO_PARTS;
  const next: FramesState = forgetRequest({ ...state, partial });
  if (displayId !== undefined) return closed(next, displayId);
  if (text === "") return next;
  const [first] = partial.displayed;
  const isFirst = first !== undefined && areOneText(text, takeText(first).texts.join(""));
  if (isFirst) return closed(next, first.id);
  return changed(next, { unheard: [...partial.unheard, text].slice(-MOST_CLOSED) });
}

/** Forgets a message that a hook tells of, and whatever a hook that is late still tells of it. */
export function closed(state: FramesState, displayId: string): FramesState {
  const { displayed, closed } = state.partial ?? NO_PARTS;
  return changed(state, {
    displayed: displayed.filter(({ id }) => id !== displayId),
    closed: [...closed, displayId].slice(-MOST_CLOSED),
  });
}

/** Whether one of two texts begins with the other. */
export function areOneText(one: string, other: string): boolean {
  return one.length < other.length ? other.startsWith(one) : one.startsWith(other);
}

function sayOpen(state: FramesState, event: StreamEvent): Told {
  return sayEvent(state, { event, of: state.partial?.open?.id });
}

/** With other things remembered, where answers are said as they are written. */
export function changed(state: FramesState, change: Partial<PartialState>): FramesState {
  return state.partial === undefined
    ? state
    : { ...state, partial: { ...state.partial, ...change } };
}

/** With an answer that is open. */
export function withOpen(state: FramesState, open: OpenAnswer): FramesState {
  return changed(state, { open });
}
