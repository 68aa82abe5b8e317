import type { GrowingMap } from "../../../growing_map.ts";
import type { Message } from "../../control/message.ts";
import type { Frame } from "../../../claude/wire/frame.ts";

/** What is remembered of the messages of the caller. */
export interface MessageMemory {
  /** Whether the caller says no more. */
  readonly heardOut?: true;
  /** The ids that the caller gave prompts, by those that they have in the transcript. */
  readonly givenIds: GrowingMap<string, string>;
  /** Messages that the child is not known to have taken, and those of the turn. */
  readonly awaited: readonly Message[];
  readonly taken: readonly Message[];
  /** Those of them that have become a part of the turn when it had begun. */
  readonly joined: readonly Message[];
  /** Which kinds of frames have named the messages that the turn answers: the first of each does. */
  readonly named: ReadonlySet<Frame["type"]>;
}
