import { type GrowingMap, growingMap } from "../../../growing_map.ts";
import type { Message, Prompt } from "../message.ts";

/** What is remembered of the caller's messages, from when they come until the transcript holds them. */
export interface MessageMemory {
  /** Whether there may be further ones. */
  readonly open: boolean;
  /** Whether the caller has ended the session: whatever else it says is not heard. */
  readonly dismissed?: true;
  /** Whether all that is asked has one time limit, which runs already. */
  readonly isBounded?: true;
  /** Messages that wait, the next one first. */
  readonly queue: readonly Message[];
  /** What the child has been given and is not known to have taken yet. */
  readonly sent: readonly Prompt[];
  /** What it has taken, as a hook has told, and the transcript does not hold yet. */
  readonly unwritten: readonly Prompt[];
  /** The ids of the transcript's lines. */
  readonly lines: GrowingMap<string, true>;
  /** The ids of prompts in the transcript, by those that the caller gave them. */
  readonly lineIds: GrowingMap<string, string>;
}

/** The caller has sent nothing yet. */
export function noMessages(): MessageMemory {
  return {
    open: true,
    queue: [],
    sent: [],
    unwritten: [],
    lines: growingMap(),
    lineIds: growingMap(),
  };
}
