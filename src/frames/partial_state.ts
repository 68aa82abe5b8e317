import type { AssistantEntry } from "../transcript/entry.ts";
import type { DisplayedMessage } from "./displayed_text.ts";

/**
 * What has to be remembered to say answers as they are written.
 *
 * Text is known line by line, from MessageDisplay hooks; whatever else an answer holds, and that it is over, from its
 * lines in the transcript, which are written all at once when it is. Of thinking nothing is streamed.
 */
export interface PartialState {
  /** The answer that is being told. */
  readonly open?: OpenAnswer;
  /** The calls of the last answer that have not returned: until then the model is not asked again. */
  readonly calls: ReadonlySet<string>;
  /** What hooks have told and nobody has been told yet, or not to its end. */
  readonly displayed: readonly DisplayedMessage[];
  /** The hook's ids of messages that have been told to their ends, the latest of them. */
  readonly closed: readonly string[];
  /** The texts of answers that were in the transcript before any hook told of them. */
  readonly unheard: readonly string[];
  /** The hook's id of the turn under way, once something of it has been told. */
  readonly turn?: string;
}

/** An answer whose beginning has been told. */
export interface OpenAnswer {
  /** The id that `message_start` told: made up where the API's was not known yet. */
  readonly id: string;
  /** The API's, once a line has told it. */
  readonly apiId?: string;
  /** The hook's. */
  readonly displayId?: string;
  /** All text that has been told in deltas, and how much of it lines have shown. */
  readonly text: string;
  readonly shown: number;
  /** How many blocks have been begun, and whether the last is a text that goes on. */
  readonly blocks: number;
  readonly writing: boolean;
  /** Its last line. */
  readonly last?: AssistantEntry;
}

/** Nothing has been told yet. */
export const NO_PARTS: PartialState = {
  calls: new Set(),
  displayed: [],
  closed: [],
  unheard: [],
};
