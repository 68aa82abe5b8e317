import { emitAfterInit, emitInit } from "../emit_frames.ts";
import { apiUsage } from "../frames/assistant_frames.ts";
import { framesOfEntry } from "../frames/frames_of_entry.ts";
import type { OutputState, OutputStep } from "../output_state.ts";
import {
  batchedCalls,
  displayedPiece,
  NO_PARTIAL,
  type OpenAnswer,
  takeText,
  withPiece,
} from "./answer_state.ts";
import {
  areSameText,
  breakOffAnswer,
  emitBlock,
  emitText,
  endAnswer,
  endBeforeOutput,
  endText,
  forgetDisplayed,
  isWriting,
  startAnswer,
  startText,
  updatePartial,
} from "./answer_events.ts";
import { emitRequestStatus, forgetRequest, holdsOutputResult } from "./stream_frames.ts";
import type { HookPayload } from "../../control/input.ts";
import type { AssistantEntry, ContentBlock, UserEntry } from "../../../claude/transcript/entry.ts";
import type { AssistantFrame } from "../../../claude/wire/message_frames.ts";
import { asText } from "../../../json_object.ts";

/** Receives a piece of text from a MessageDisplay hook. */
export function receiveText(step: OutputStep, payload: HookPayload): void {
  const { partial, options } = step.state;
  const piece = displayedPiece(payload, options.sessionId);
  if (partial === undefined || piece === undefined) return;
  if (partial.closed.includes(piece.message)) return;
  updatePartial(step, { displayed: withPiece(partial.displayed, piece) });
}

/**
 * Receives the calls of an answer, all of which have returned. Claude Code writes the lines of these calls up to 0.1 s
 * later, and may display the text of the next answer before that.
 */
export function receiveToolBatch(step: OutputStep, payload: HookPayload): void {
  const { calls, returned } = step.state.partial ?? NO_PARTIAL;
  const batch = batchedCalls(payload, step.state.options.sessionId);
  updatePartial(step, { calls: calls.union(batch.difference(returned)) });
}

/** Emits the text that hooks have reported, as soon as all earlier frames have been emitted. */
export function emitDisplayedText(step: OutputStep): void {
  const { partial, hasInit, isBetweenTurns, version } = step.state;
  const first = partial?.displayed[0];
  if (partial === undefined || first === undefined) return;
  const { open, calls, turn, undisplayed, endsTurn = false } = partial;
  // The text is too early if the beginning of the turn, or the model's input for this answer, is in lines that have not
  // been read yet.
  const isEarly = !hasInit || isBetweenTurns || version === undefined ||
    (turn !== undefined && first.turn !== turn);
  if (isEarly) return;
  if (open !== undefined) {
    if (open.displayId === first.id) emitPieces(step);
    return;
  }
  if (calls.size > 0) return;
  if (undisplayed.length > 0) {
    const text = takeText(first).texts.join("");
    // The hooks of an earlier answer may have been lost.
    const at = undisplayed.findIndex((known) => areSameText(known, text));
    if (at >= 0) forgetDisplayed(step, first.id);
    updatePartial(step, { undisplayed: at < 0 ? [] : undisplayed.slice(at + 1) });
    emitDisplayedText(step);
    return;
  }
  if (endsTurn) return;
  updatePartial(step, { turn: first.turn });
  startAnswer(step, { model: nextModel(step.state), displayId: first.id });
  emitPieces(step);
}

/** Emits the text of the first displayed message, up to the first missing piece. */
function emitPieces(step: OutputStep): void {
  const [first, ...others] = step.state.partial?.displayed ?? [];
  if (first === undefined) return;
  const { message, texts } = takeText(first);
  updatePartial(step, { displayed: [message, ...others] });
  for (const text of texts) if (text !== "") emitText(step, text);
}

/** Emits a line of an answer, in order with the events of the stream. */
export function emitAnswerLine(step: OutputStep, entry: AssistantEntry): void {
  if (replacesAnswer(entry)) {
    // A line that replaces an answer has no stream events.
    if (step.state.partial?.open === undefined) {
      emitInit(step);
      emitRequestStatus(step);
    } else {
      breakOffAnswer(step);
    }
    emitLine(step, entry);
    forgetRequest(step);
    return;
  }
  openAnswerOf(step, entry);
  const [block, ...others] = entry.message.content;
  if (block === undefined || others.length > 0) emitLine(step, entry);
  else emitBlockOfLine(step, { entry, block });
  recordLine(step, entry);
}

/** Whether Claude Code itself wrote a line, such as an API error, in place of an answer. */
export function replacesAnswer({ isApiErrorMessage, message }: AssistantEntry): boolean {
  return isApiErrorMessage === true || message.model === "<synthetic>";
}

/** Opens the answer of a line, unless it is already open. */
function openAnswerOf(step: OutputStep, entry: AssistantEntry): void {
  const open = step.state.partial?.open;
  const { id, model, usage } = entry.message;
  if (open !== undefined && isPartOf(entry, open)) {
    updatePartial(step, { open: { ...open, apiId: id } });
    return;
  }
  endOpenAnswer(step);
  startAnswer(step, { model, apiId: id, usage: { ...apiUsage(usage), output_tokens: 0 } });
}

/** Ends the open answer as the API does if one of its lines has been read; breaks it off otherwise. */
function endOpenAnswer(step: OutputStep): void {
  if (step.state.partial?.open?.apiId === undefined) breakOffAnswer(step);
  else endAnswer(step);
}

/** Whether a line belongs to the open answer: by its id, or else by its text. */
function isPartOf({ message: { id, content } }: AssistantEntry, open: OpenAnswer): boolean {
  if (open.apiId !== undefined) return open.apiId === id;
  const text = content.find((block) => block.type === "text")?.text;
  return typeof text !== "string" || areSameText(text, open.text);
}

/** Emits the only block of a line. The line's frame comes before the event that ends the block. */
function emitBlockOfLine(
  step: OutputStep,
  { entry, block }: { readonly entry: AssistantEntry; readonly block: ContentBlock },
): void {
  const emitFrame = () => emitLine(step, entry);
  if (block.type === "text" && typeof block.text === "string") {
    emitRestOfText(step, block.text);
    emitFrame();
    endShownText(step, block.text);
    return;
  }
  // Claude Code writes a thought only when the answer is complete. If the text after the thought is already being
  // streamed, the thought cannot be streamed: the API never opens a block inside another one.
  const isThought = block.type === "thinking" || block.type === "redacted_thinking";
  if (isThought && isWriting(step.state)) {
    emitFrame();
    return;
  }
  endText(step);
  emitBlock(step, { start: emptied(block), deltas: deltasOf(block), emitFrame });
}

/** A block in the form of `content_block_start`. */
function emptied(block: ContentBlock): ContentBlock {
  if (block.type === "thinking") return { ...block, thinking: "", signature: "" };
  return "input" in block ? { ...block, input: {} } : block;
}

/** The deltas that complete an emptied block. */
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

/** Emits the rest of a text whose beginning hooks have reported. */
function emitRestOfText(step: OutputStep, text: string): void {
  const open = step.state.partial?.open;
  if (open === undefined) return;
  const emitted = open.text.slice(open.shown);
  if (text !== "" && text.startsWith(emitted) && text !== emitted) {
    emitText(step, text.slice(emitted.length));
  } else if (!isWriting(step.state)) {
    startText(step);
  }
}

/** Ends the text of a line, unless the next text of the answer was emitted in the same block. */
function endShownText(step: OutputStep, text: string): void {
  const open = step.state.partial?.open;
  if (open === undefined) return;
  const goesOn = open.text.length > open.shown + text.length &&
    open.text.startsWith(text, open.shown);
  const shown = goesOn ? open.shown + text.length : open.text.length;
  updatePartial(step, { open: { ...open, shown } });
  if (!goesOn) endText(step);
}

/** Records a line of the open answer, and its calls. */
function recordLine(step: OutputStep, entry: AssistantEntry): void {
  const { open, calls } = step.state.partial ?? NO_PARTIAL;
  if (open === undefined) return;
  updatePartial(step, { open: { ...open, last: entry } });
  const called = entry.message.content.flatMap(({ type, id }) =>
    type === "tool_use" && typeof id === "string" ? [id] : []
  );
  if (called.length > 0) updatePartial(step, { calls: new Set([...calls, ...called]) });
}

/** Emits what must precede a line of type `user`: the end of the answer before that line. */
export function emitBeforeUserLine(step: OutputStep, entry: UserEntry): void {
  const { partial, isAmidAnswer } = step.state;
  if (partial === undefined) return;
  const { calls, returned, open } = partial;
  const { content } = entry.message;
  const results = new Set(
    typeof content === "string" ? [] : content.map(({ tool_use_id: id }) => asText(id)),
  );
  updatePartial(step, {
    calls: calls.difference(results),
    returned: returned.union(results),
    endsTurn: false,
  });
  if (open?.apiId === undefined || isAmidAnswer) return;
  if (holdsOutputResult(step.state, entry)) endBeforeOutput(step);
  else endAnswer(step);
}

/** Ends the open answer if all of its lines have been read. */
export function endCompleteAnswer(step: OutputStep): void {
  const open = step.state.partial?.open;
  if (open === undefined) return;
  const { last, text, shown } = open;
  const isComplete = typeof last?.message.stop_reason === "string" && text.length === shown;
  if (isComplete && !awaitsOutputResult(step.state, open)) endAnswer(step);
}

/** Whether an answer ends with a structured answer whose result has not been emitted. */
function awaitsOutputResult({ partial, outputCalls }: OutputState, { last }: OpenAnswer): boolean {
  const id = last?.message.content.at(-1)?.id;
  return typeof id === "string" && outputCalls?.has(id) === true &&
    partial?.calls.has(id) === true;
}

/** Ends the open answer with its turn, and forgets all hook reports of the turn. */
export function endTurnAnswers(step: OutputStep): void {
  if (step.state.partial === undefined) return;
  endOpenAnswer(step);
  for (const { id } of step.state.partial.displayed) forgetDisplayed(step, id);
  const { calls, returned } = NO_PARTIAL;
  updatePartial(step, { calls, returned, endsTurn: false });
  forgetRequest(step);
}

/**
 * The model that is expected to answer: the model of the last answer, or else the model at the start of the session.
 */
function nextModel({ kept: { notes }, model = "" }: OutputState): string {
  return notes.answered ?? model.replace(/\[[^\]]*\]$/u, "");
}

/** Emits the frames of a line, with the message id of `message_start`. */
function emitLine(step: OutputStep, entry: AssistantEntry): void {
  const id = step.state.partial?.open?.id;
  emitAfterInit(
    step,
    (context) =>
      framesOfEntry(entry, context).map((frame) =>
        id === undefined || frame.type !== "assistant" ? frame : withId(frame as AssistantFrame, id)
      ),
  );
}

function withId(frame: AssistantFrame, id: string): AssistantFrame {
  return { ...frame, message: { ...frame.message, id } };
}
