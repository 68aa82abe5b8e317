import * as exact from "./exact_stream.ts";
import * as partial from "./partial_messages.ts";
import type { AssistantEntry, UserEntry } from "../../../claude/transcript/entry.ts";
import { framesOfEntry } from "../frames/frames_of_entry.ts";
import type { OutputState, OutputStep } from "../output_state.ts";
import { emitAfterInit } from "../emit_frames.ts";

// Three sources show an answer while it is written: the API's stream, which a relay observes (`exact`); MessageDisplay
// hooks (`partial`); and, if the caller wants no partial messages, only the lines of the transcript.

/** Emits the received parts of answers that are being written. */
export function emitLiveAnswers(step: OutputStep): void {
  if (step.state.exact !== undefined) exact.emitStream(step);
  else partial.emitDisplayedText(step);
}

/** Emits a line of an answer, in order with the events of the stream. */
export function emitAnswerLine(step: OutputStep, entry: AssistantEntry): void {
  if (step.state.exact !== undefined) exact.emitAnswerLine(step, entry);
  else if (step.state.partial !== undefined) partial.emitAnswerLine(step, entry);
  else emitAfterInit(step, (context) => framesOfEntry(entry, context));
}

/** The API's id of the open answer, if known. */
export function openAnswerId({ exact, partial }: OutputState): string | undefined {
  return exact === undefined ? partial?.open?.apiId : exact.open?.id;
}

/** Emits what must precede a line of type `user`: the end of the answer before that line. */
export function emitBeforeUserLine(step: OutputStep, entry: UserEntry): void {
  if (step.state.exact !== undefined) exact.emitBeforeUserLine(step, entry);
  else partial.emitBeforeUserLine(step, entry);
}

/** Ends the open answer if all of its lines have been read. */
export function endCompleteAnswer(step: OutputStep): void {
  if (step.state.exact !== undefined) exact.endCompleteAnswer(step);
  else partial.endCompleteAnswer(step);
}

/** Ends the open answer with its turn. */
export function endTurnAnswers(step: OutputStep): void {
  if (step.state.exact !== undefined) exact.endTurnAnswers(step);
  else partial.endTurnAnswers(step);
}
