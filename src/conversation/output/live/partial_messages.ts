import { begin } from "../telling/beginning.ts";
import { apiUsage } from "../frames/assistant_frames.ts";
import { framesOfEntry } from "../frames/frames_of_entry.ts";
import { and, type FramesState, type Told, told } from "../telling/frames_state.ts";
import {
  batchedCalls,
  displayedPiece,
  NO_PARTS,
  type OpenAnswer,
  takeText,
  withPiece,
} from "../telling/partial_state.ts";
import {
  abandon,
  areOneText,
  changed,
  closed,
  endAnswer,
  endBeforeOutput,
  endText,
  isWriting,
  startAnswer,
  startText,
  tellDelta,
  tellWhole,
  withOpen,
} from "./answer_events.ts";
import { forgetRequest, isOfOutput, tellRequest } from "./stream_frames.ts";
import { say } from "../telling/saying.ts";
import type { HookPayload } from "../../control/input.ts";
import type { AssistantEntry, ContentBlock, UserEntry } from "../../../claude/transcript/entry.ts";
import type { AssistantFrame } from "../../../claude/wire/message_frames.ts";
import { asText } from "../../../json_object.ts";

/** Takes a piece of text as a hook tells it. */
export function hearText(state: FramesState, payload: HookPayload): FramesState {
  const { partial, options } = state;
  const piece = displayedPiece(payload, options.sessionId);
  if (partial === undefined || piece === undefined) return state;
  if (partial.closed.includes(piece.message)) return state;
  return changed(state, { displayed: withPiece(partial.displayed, piece) });
}

/**
 * Takes the calls of an answer, all of which have returned. Claude Code writes their lines up to 0.1 s later, and the text
 * of the next answer may be displayed before that.
 */
export function hearBatch(state: FramesState, payload: HookPayload): FramesState {
  const { calls, returned } = state.partial ?? NO_PARTS;
  const batch = batchedCalls(payload, state.options.sessionId);
  return changed(state, { calls: calls.union(batch.difference(returned)) });
}

/** Tells what hooks have told, as far as everything before it has been told. */
export function tellText(state: FramesState): Told {
  const first = state.partial?.displayed[0];
  if (state.partial === undefined || first === undefined) return told(state);
  const { open, calls, turn, unheard, rests = false } = state.partial;
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
  // A thought is known once the answer is complete. If the text after it is being streamed by then, the thought has
  // no place in the stream: the API never opens a block inside another.
  const isThought = block.type === "thinking" || block.type === "redacted_thinking";
  if (isThought && isWriting(before)) return and(shown(before), noted);
  const complete = and(
    endText(before),
    (state) => tellWhole(state, { block: emptied(block), deltas: deltasOf(block), show: shown }),
  );
  return and(complete, noted);
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
  const { calls, returned, open } = state.partial;
  const { content } = entry.message;
  const results = new Set(
    typeof content === "string" ? [] : content.map(({ tool_use_id: id }) => asText(id)),
  );
  const next = changed(state, {
    calls: calls.difference(results),
    returned: returned.union(results),
    rests: false,
  });
  if (open?.apiId === undefined || state.amid) return told(next);
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
    const { calls, returned } = NO_PARTS;
    return told(forgetRequest(changed(next, { calls, returned, rests: false })));
  });
}

/** The model that will answer: the last that did, or the one of the session's start. */
function modelOf({ kept: { notes }, model = "" }: FramesState): string {
  return notes.answered ?? model.replace(/\[[^\]]*\]$/u, "");
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
