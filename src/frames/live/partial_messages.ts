import { begin } from "../telling/beginning.ts";
import { apiUsage, framesOfEntry } from "../single/frames_of_entry.ts";
import { streamEventFrame } from "../single/stream_event_frame.ts";
import {
  and,
  type FramesState,
  type Told,
  told,
  withIds,
  withStreamed,
} from "../telling/frames_state.ts";
import {
  displayedPiece,
  NO_PARTS,
  type OpenAnswer,
  type PartialState,
  takeText,
  withPiece,
} from "../telling/partial_state.ts";
import { isAfterOutput, isOfOutput } from "./output_result.ts";
import { forgetRequest, tellRequest } from "./request_status.ts";
import { say } from "../telling/saying.ts";
import type { HookPayload } from "../../session/input.ts";
import type { AssistantEntry, ContentBlock, UserEntry } from "../../transcript/entry.ts";
import type { JsonObject } from "../../transcript/json_object.ts";
import type { AssistantFrame, StreamEvent } from "../../wire/frame.ts";
import { isVersionAtLeast } from "../../wire/wire_keys.ts";

/** Hooks that are late are late by milliseconds: these are more messages than can have been told meanwhile. */
const MOST_CLOSED = 64;

/** Takes a piece of text as a hook tells it. */
export function hearText(state: FramesState, payload: HookPayload): FramesState {
  const { partial, options } = state;
  const piece = displayedPiece(payload, options.sessionId);
  if (partial === undefined || piece === undefined) return state;
  if (partial.closed.includes(piece.message)) return state;
  return changed(state, { displayed: withPiece(partial.displayed, piece) });
}

/** Tells what hooks have told, as far as everything before it has been told. */
export function tellText(state: FramesState): Told {
  const first = state.partial?.displayed[0];
  if (state.partial === undefined || first === undefined) return told(state);
  const { open, calls, turn, unheard, rests = false } = state.partial;
  if (isBeginning(state)) return and(begin(state), tellText);
  // Whatever begins a turn, and whatever the model was told before it answers, is in lines that are still to be read.
  const isEarly = !state.begun || state.rested || state.version === undefined ||
    (turn !== undefined && first.turn !== turn);
  if (isEarly) return told(state);
  if (open !== undefined) return open.displayId === first.id ? tellPieces(state) : told(state);
  if (calls.size > 0) return told(state);
  if (unheard.length > 0) {
    const text = takeText(first).texts.join("");
    // The hooks of an answer before it may be lost.
    const at = unheard.findIndex((known) => areOneText(known, text));
    return tellText(
      at < 0
        ? changed(state, { unheard: [] })
        : changed(closed(state, first.id), { unheard: unheard.slice(at + 1) }),
    );
  }
  if (rests) return told(state);
  const begun = changed(state, { turn: first.turn });
  return and(
    startAnswer(begun, { model: modelOf(begun), displayId: first.id }),
    tellPieces,
  );
}

/** Whether nothing is left to wait for, now that the model answers: 2.1.330 still writes what describes the session. */
export function isBeginning({ begun, rested, prompt, version }: FramesState): boolean {
  return !begun && !rested && prompt !== undefined && version !== undefined &&
    !isVersionAtLeast(version, "2.1.330");
}

function tellPieces(state: FramesState): Told {
  const [first, ...others] = state.partial?.displayed ?? [];
  if (first === undefined) return told(state);
  const { message, texts } = takeText(first);
  return texts.filter((text) => text !== "").reduce(
    (said, text) => and(said, (state) => tellDelta(state, text)),
    told(changed(state, { displayed: [message, ...others] })),
  );
}

/** Tells a line of an answer, in its place among the events of the stream. */
export function tellAnswerLine(before: FramesState, entry: AssistantEntry): Told {
  // Nothing is streamed of what stands in the place of an answer.
  if (standsInPlace(entry)) {
    const asked = before.partial?.open === undefined
      ? and(begin(before), tellRequest)
      : abandon(before);
    return and(
      asked,
      (state) => and(sayLine(state, entry), (state) => told(forgetRequest(state))),
    );
  }
  if (isOfEarlier(entry, before)) {
    return and(
      say(before, (context) => framesOfEntry(entry, context)),
      (state) => told(withCalls(state, entry)),
    );
  }
  const [block, ...others] = entry.message.content;
  return and(
    openFor(before, entry),
    (state) =>
      block === undefined || others.length > 0
        ? and(sayLine(state, entry), (state) => told(noteLine(state, entry)))
        : tellBlock(state, { entry, block }),
  );
}

/** Whether a line is Claude Code's own, such as an API error, in the place of an answer. */
export function standsInPlace({ isApiErrorMessage, message }: AssistantEntry): boolean {
  return isApiErrorMessage === true || message.model === "<synthetic>";
}

/**
 * Whether a line is of an answer before the one that is being told, which came so soon that its hook was heard before
 * that line was written: a call comes after the text of its answer, and nothing shows that text.
 */
function isOfEarlier({ message: { content } }: AssistantEntry, { partial }: FramesState): boolean {
  const { open } = partial ?? NO_PARTS;
  return open !== undefined && open.apiId === undefined && open.text.trim() !== "" &&
    content[0]?.type === "tool_use";
}

/** Sees to it that the answer is open of which a line is a part. */
function openFor(state: FramesState, entry: AssistantEntry): Told {
  const open = state.partial?.open;
  if (open !== undefined && isPartOf(entry, open)) {
    return told(withOpen(state, { ...open, apiId: entry.message.id }));
  }
  const ended = open?.apiId === undefined ? abandon(state) : endAnswer(state);
  const { id, model, usage } = entry.message;
  return and(
    ended,
    (state) =>
      startAnswer(state, { model, apiId: id, usage: { ...apiUsage(usage), output_tokens: 0 } }),
  );
}

/** Whether a line belongs to an answer that is open: by its id, else by its text. */
function isPartOf({ message: { id, content } }: AssistantEntry, open: OpenAnswer): boolean {
  if (open.apiId !== undefined) return open.apiId === id;
  const text = content.find((block) => block.type === "text")?.text;
  return typeof text !== "string" || areOneText(text, open.text);
}

/** Tells a block of a line: its frame comes before the event with which the block ends. */
function tellBlock(
  before: FramesState,
  { entry, block }: { readonly entry: AssistantEntry; readonly block: ContentBlock },
): Told {
  const shown = (state: FramesState) => sayLine(state, entry);
  const noted = (state: FramesState) => told(noteLine(state, entry));
  if (block.type === "text" && typeof block.text === "string") {
    const { text } = block;
    return and(
      and(and(tellRest(before, text), shown), (state) => endShownText(state, text)),
      noted,
    );
  }
  // A thought is known once the answer is whole: the text behind it is being told, and goes on.
  const isThought = block.type === "thinking" || block.type === "redacted_thinking";
  const begun = isThought ? told(before) : endText(before);
  const whole = and(
    begun,
    (state) => tellWhole(state, { block: emptied(block), deltas: deltasOf(block), show: shown }),
  );
  return and(whole, noted);
}

/** A block as it stands at its beginning. */
function emptied(block: ContentBlock): ContentBlock {
  if (block.type === "thinking") return { ...block, thinking: "", signature: "" };
  return "input" in block ? { ...block, input: {} } : block;
}

/** What is missing of a block at its beginning. */
function deltasOf({ type, ...block }: ContentBlock): readonly Readonly<Record<string, unknown>>[] {
  if (type === "thinking") {
    const { thinking, signature } = block;
    return [
      ...(thinking === "" ? [] : [{ type: "thinking_delta", thinking }]),
      ...(signature === undefined ? [] : [{ type: "signature_delta", signature }]),
    ];
  }
  return "input" in block
    ? [{ type: "input_json_delta", partial_json: JSON.stringify(block.input) }]
    : [];
}

/** Tells what is missing of a text that a line shows whole. */
function tellRest(state: FramesState, text: string): Told {
  const open = state.partial?.open;
  if (open === undefined) return told(state);
  const ahead = open.text.slice(open.shown);
  if (text !== "" && text.startsWith(ahead) && text !== ahead) {
    return tellDelta(state, text.slice(ahead.length));
  }
  return isWriting(state) ? told(state) : startText(state);
}

/** Ends a text that has been shown, unless what follows in the answer has been told as a part of it. */
function endShownText(state: FramesState, text: string): Told {
  const open = state.partial?.open;
  if (open === undefined) return told(state);
  const isAhead = open.text.length > open.shown + text.length &&
    open.text.startsWith(text, open.shown);
  const shown = isAhead ? open.shown + text.length : open.text.length;
  const next = withOpen(state, { ...open, shown });
  return isAhead ? told(next) : endText(next);
}

function noteLine(state: FramesState, entry: AssistantEntry): FramesState {
  const { open } = state.partial ?? NO_PARTS;
  return open === undefined ? state : withCalls(withOpen(state, { ...open, last: entry }), entry);
}

function withCalls(state: FramesState, { message }: AssistantEntry): FramesState {
  const { calls } = state.partial ?? NO_PARTS;
  const called = message.content.flatMap(({ type, id }) =>
    type === "tool_use" && typeof id === "string" ? [id] : []
  );
  return called.length === 0 ? state : changed(state, { calls: new Set([...calls, ...called]) });
}

/** What the model is told comes after what it has said. */
export function tellBeforeUser(state: FramesState, entry: UserEntry): Told {
  if (state.partial === undefined) return told(state);
  const { calls, open } = state.partial;
  const { message } = entry;
  const returned = typeof message.content === "string"
    ? []
    : message.content.map(({ tool_use_id: id }) => id);
  const left = returned.length === 0 || calls.size === 0
    ? calls
    : calls.difference(new Set(returned));
  const next = changed(state, { calls: left, rests: false });
  if (open?.apiId === undefined) return told(next);
  return isOfOutput(state, entry) ? endBeforeOutput(next) : endAnswer(next);
}

/** Ends an answer all of whose lines have been read. */
export function endWritten(state: FramesState): Told {
  const open = state.partial?.open;
  if (open === undefined) return told(state);
  const { last, text, shown } = open;
  const isWhole = typeof last?.message.stop_reason === "string" && text.length === shown;
  return isWhole && !awaitsOutput(state, open) ? endAnswer(state) : told(state);
}

/** Whether an answer ends with a structured one whose result has not been told. */
function awaitsOutput({ partial, outputCalls }: FramesState, { last }: OpenAnswer): boolean {
  const id = last?.message.content.at(-1)?.id;
  return typeof id === "string" && outputCalls?.has(id) === true &&
    partial?.calls.has(id) === true;
}

/** Forgets what is left of a turn that is over. */
export function endParts(state: FramesState): Told {
  if (state.partial === undefined) return told(state);
  const { open } = state.partial;
  const ended = open?.apiId === undefined ? abandon(state) : endAnswer(state);
  return and(ended, (state) => {
    const { displayed = [] } = state.partial ?? {};
    const next = displayed.reduce((state, { id }) => closed(state, id), state);
    return told(forgetRequest(changed(next, { calls: new Set(), rests: false, unheard: [] })));
  });
}

function startAnswer(
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
    return sayEvent(withOpen(withStreamed(next, made), open), {
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

/** The model that will answer: the last that did, or the one of the session's start. */
function modelOf({ entries, model = "" }: FramesState): string {
  for (let line = entries; line !== undefined; line = line.before) {
    const { last } = line;
    if (last.type === "assistant" && last.message.model !== "<synthetic>") {
      return last.message.model;
    }
  }
  return model.replace(/\[[^\]]*\]$/u, "");
}

function tellDelta(before: FramesState, text: string): Told {
  const begun = isWriting(before) ? told(before) : startText(before);
  return and(begun, (state) => {
    const open = state.partial?.open;
    if (open?.writing === undefined) return told(state);
    const next = withOpen(state, { ...open, text: open.text + text });
    return sayDelta(next, { index: open.writing, delta: { type: "text_delta", text } });
  });
}

function isWriting({ partial }: FramesState): boolean {
  return partial?.open?.writing !== undefined;
}

function startText(state: FramesState): Told {
  const open = state.partial?.open;
  if (open === undefined) return told(state);
  return startBlock(
    withOpen(state, { ...open, writing: open.blocks }),
    { type: "text", text: "" },
  );
}

function endText(state: FramesState): Told {
  const open = state.partial?.open;
  if (open?.writing === undefined) return told(state);
  return stopBlock(withOpen(state, { ...open, writing: undefined }), open.writing);
}

/** Tells a block that is known whole, with its frame before its end. */
function tellWhole(
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
  return sayEvent(
    withOpen(state, { ...open, blocks: index + 1 }),
    { type: "content_block_start", index, content_block: block },
  );
}

function sayDelta(
  state: FramesState,
  told: { readonly index: number; readonly delta: Readonly<Record<string, unknown>> },
): Told {
  return sayEvent(state, { type: "content_block_delta", ...told });
}

function stopBlock(state: FramesState, index: number): Told {
  return sayEvent(state, { type: "content_block_stop", index });
}

/** Ends an answer as the API does. */
function endAnswer(state: FramesState): Told {
  const open = state.partial?.open;
  if (open === undefined) return told(state);
  const events = endOf(open);
  if (events.length === 0) return abandon(state);
  const rests = open.last?.message.stop_reason === "end_turn";
  return and(tellEvents(state, events), (state) => told(changed(close(state, open), { rests })));
}

/** Tells how an answer ends, as far as that comes before the result of the structured one which it gives. */
function endBeforeOutput(state: FramesState): Told {
  const open = state.partial?.open;
  if (open === undefined) return told(state);
  const events = endOf(open).filter((event) => !isAfterOutput(state, event));
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
    (said, event) => and(said, (state) => sayEvent(state, event)),
    endText(state),
  );
}

/** Where a request was answered, the API says at the beginning, and Claude Code notes an empty name where it does not. */
function deltaUsage(usage: JsonObject | null | undefined): JsonObject {
  const { inference_geo: _, ...others } = apiUsage(usage);
  return others;
}

/** Ends an answer that breaks off; since 2.1.330 the stream says where. */
function abandon(state: FramesState): Told {
  const open = state.partial?.open;
  if (open === undefined) return told(state);
  const stopped = and(endText(state), (state) => {
    if (!isVersionAtLeast(state.version ?? "", "2.1.330")) return told(state);
    const from = { api_message_id: open.id, from_block_index: state.partial?.open?.blocks ?? 0 };
    return sayEvent(state, { type: "message_stop" }, { abandoned_blocks: from });
  });
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
  return isFirst ? closed(next, first.id) : changed(next, { unheard: [...partial.unheard, text] });
}

function closed(state: FramesState, displayId: string): FramesState {
  const { displayed, closed } = state.partial ?? NO_PARTS;
  return changed(state, {
    displayed: displayed.filter(({ id }) => id !== displayId),
    closed: [...closed, displayId].slice(-MOST_CLOSED),
  });
}

/** Whether one of two texts begins with the other. */
function areOneText(one: string, other: string): boolean {
  return one.length < other.length ? other.startsWith(one) : one.startsWith(other);
}

/** The frames of a line, with the id by which its answer is known to the caller. */
function sayLine(state: FramesState, entry: AssistantEntry): Told {
  const id = state.partial?.open?.id;
  return say(
    state,
    (context) =>
      framesOfEntry(entry, context).map((frame) =>
        id === undefined || frame.type !== "assistant" ? frame : withId(frame as AssistantFrame, id)
      ),
  );
}

function withId(frame: AssistantFrame, id: string): AssistantFrame {
  return { ...frame, message: { ...frame.message, id } };
}

function sayEvent(
  state: FramesState,
  event: StreamEvent,
  more: Readonly<Record<string, unknown>> = {},
): Told {
  const messageId = state.partial?.open?.id ?? "";
  return say(state, ({ version, sessionId, newUuid }) => [
    streamEventFrame(event, { version, sessionId, uuid: newUuid(), messageId, more }),
  ]);
}

function changed(state: FramesState, change: Partial<PartialState>): FramesState {
  return state.partial === undefined
    ? state
    : { ...state, partial: { ...state.partial, ...change } };
}

function withOpen(state: FramesState, open: OpenAnswer): FramesState {
  return changed(state, { open });
}
