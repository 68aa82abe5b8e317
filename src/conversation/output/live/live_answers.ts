import type { AssistantEntry, UserEntry } from "../../../claude/transcript/entry.ts";
import { framesOfEntry } from "../frames/frames_of_entry.ts";
import * as exact from "./exact_stream.ts";
import { type FramesState, type Told, told } from "../telling/frames_state.ts";
import * as partial from "./partial_messages.ts";
import { say } from "../telling/saying.ts";

/** Tells what has been heard of answers that are being written, by whichever way it is heard. */
export function tellHeard(state: FramesState): Told {
  if (state.exact !== undefined) return exact.tellStream(state);
  return partial.tellText(state);
}

/** Tells a line of an answer. */
export function tellAnswerLine(state: FramesState, entry: AssistantEntry): Told {
  if (state.exact !== undefined) return exact.tellAnswerLine(state, entry);
  if (state.partial !== undefined) return partial.tellAnswerLine(state, entry);
  return say(state, (context) => framesOfEntry(entry, context));
}

/** The id of the answer that is being told, once a line has said which it is. */
export function openAnswer({ exact, partial }: FramesState): string | undefined {
  return exact === undefined ? partial?.open?.apiId : exact.open?.id;
}

/** Tells what comes before a line in the user's name. */
export function tellBeforeUser(state: FramesState, entry: UserEntry): Told {
  if (state.exact !== undefined) return exact.tellBeforeUser(state, entry);
  return partial.tellBeforeUser(state, entry);
}

/** Tells the end of an answer all of whose lines have been read. */
export function endWritten(state: FramesState): Told {
  return state.exact === undefined ? partial.endWritten(state) : exact.endWritten(state);
}

/** Tells what is left to tell of the answers of a turn that is over. */
export function endAnswers(state: FramesState): Told {
  if (state.exact !== undefined) return exact.endStream(state);
  return state.partial === undefined ? told(state) : partial.endParts(state);
}
