import type { Ending } from "../../control/effect.ts";
import type { Message } from "../../control/message.ts";
import type { UserEntry } from "../../../claude/transcript/entry.ts";
import type { Spent } from "../../../claude/transcript/turn/cost.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import type { Report } from "../result/report.ts";

/** What a Stop hook says of the result of its turn. */
export interface TurnStop {
  /** When the hook ran, in milliseconds since the epoch, where that is known. */
  readonly at: number | undefined;
  /** Whether the result may be told when the turn is over, has to wait, or is that of the last turn. */
  readonly result: "printable" | "held" | "last";
}

/** The end of a turn that the child outlived. */
export interface TurnEnd {
  readonly ending: Ending;
  /** Milliseconds from the start of the child. */
  readonly at: number;
  /** Tickets of the messages that it answers, as far as the session knows them. */
  readonly tickets?: readonly string[];
  /** Those of its messages whose lines had not been read by then. */
  readonly unwritten?: readonly Message[];
  /** What the child had cost by then, as its status line told. */
  readonly cost?: Spent | undefined;
  /** How many of the lines that are to be told are its own, where they and its result wait for those of a subagent. */
  readonly lines?: number;
}

/** A turn whose result has been told ahead of its lines, which a busy machine may have written seconds later. */
export interface ToldAhead {
  /** Its messages whose lines have not been read. */
  readonly messages: readonly Message[];
  /** When its end was told, in milliseconds since the epoch: what is written later is of another turn. */
  readonly at: number;
  /** Whether the line of one of them has been read: then the turn counts as one that the transcript holds. */
  readonly counted: boolean;
}

/** What is remembered of turns: how they begin, and the ends that have been told. */
export interface TurnMemory {
  /** Whether the turn's `system/init` has been told, and what has to wait for it. */
  readonly begun: boolean;
  readonly early: readonly Frame[];
  /**
   * The last prompt, with which the transcript holds all that is told about the session at its start. What follows it
   * may be the text that a slash command made of it.
   */
  readonly prompt?: UserEntry;
  /** Ids of the prompts that followed a turn whose end was told. */
  readonly begins: ReadonlySet<string>;
  /** Whether anything was said since the last prompt. */
  readonly spoken: boolean;
  /** Whether the next prompt begins a turn, with a `system/init` of its own. */
  readonly rested: boolean;
  /** When the model is woken, in milliseconds since the epoch, if it is to. */
  readonly wakeupAt?: number | undefined;
  /** The id of the prompt with which it was woken, as long as the turn of that is not over. */
  readonly woken?: string | undefined;
  /** What Stop hooks have said of turns of which the transcript has yet to say that they are over. */
  readonly stops: readonly TurnStop[];
  /** Ends of turns whose lines have not all been read yet. */
  readonly ended: readonly TurnEnd[];
  /** The last turns, where their results have been told ahead of their lines and these have not been read, the oldest first. */
  readonly toldAhead: readonly ToldAhead[];
  /** When the last turn ended, in milliseconds from the start of the child. */
  readonly endedAt: number;
  /** How many results have been told of turns that the transcript holds, which are those of as many first turns. */
  readonly results: number;
  /** How many have been told of other messages. */
  readonly locals: number;
  /** What became of turns since it was asked for last. */
  readonly reports: readonly Report[];
}
