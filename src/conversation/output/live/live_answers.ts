import * as exact from "./exact_stream.ts";
import * as partial from "./partial_messages.ts";
import type { AssistantEntry, UserEntry } from "../../../claude/transcript/entry.ts";
import { framesOfEntry } from "../frames/frames_of_entry.ts";
import type { OutputState, OutputStep } from "../output_state.ts";
import { emitAfterInit } from "../emit_frames.ts";

// Answers that are being written are known from the API's stream (`exact`), which a relay observes, or from MessageDisplay
// hooks (`partial`); where the caller wants no partial messages, from the lines of the transcript alone.

/** Emits what has been received of answers that are being written. */
export function emitLiveAnswers(step: OutputStep): void {
  if (step.state.exact !== undefined) exact.emitStream(step);
  else partial.emitDisplayedText(step);
}

/** Emits a line of an answer, in its place among the events of the stream. */
export function emitAnswerLine(step: OutputStep, entry: AssistantEntry): void {
  if (step.state.exact !== undefined) exact.emitAnswerLine(step, entry);
  else if (step.state.partial !== undefined) partial.emitAnswerLine(step, entry);
  else emitAfterInit(step, (context) => framesOfEntry(entry, context));
}

/** The API's id of the open answer, as far as it is known. */
export function openAnswerId({ exact, partial }: OutputState): string | undefined {
  return exact === undefined ? partial?.open?.apiId : exact.open?.id;
}

/** Emits what belongs before a line in the user's name: the end of the answer before it. */
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
