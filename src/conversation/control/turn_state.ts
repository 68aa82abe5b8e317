import type { Answer } from "./effect.ts";
import type { HookPayload } from "./input.ts";
import type { Prompt } from "./message.ts";

/** What is remembered of a turn, and of those that its tasks in the background start. */
export interface TurnMemory extends TurnRecord, AnnouncedEnd, PressedEscapes, BackgroundTasks {
  /** What the child has taken as the turn's. */
  readonly taken: readonly Prompt[];
  /** How many requests to the model the turn has made that were answered, and whose tools have returned. */
  readonly requests: number;
  /** Whether a hook or the transcript has told of its prompt. */
  readonly isPromptKnown: boolean;
  /** Whether the turn is known to be that of a prompt that has waited for its time. */
  readonly isWakeup: boolean;
  /** Whether it is known to be that of the end of a task. */
  readonly isTaskNotice: boolean;
  /** What has become of its structured answer. */
  readonly output: OutputMemory;
}

/** What the transcript holds of a turn. */
interface TurnRecord {
  /** Whether lines of the turn before it are still to be written: until its own prompt's line, none is its own. */
  readonly awaitsEarlierLines: boolean;
  /** Whether the transcript file holds its prompt. */
  readonly hasPromptLine: boolean;
  /** Whether it holds the first request. */
  readonly hasRequestLine: boolean;
  /** Whether it holds an answer since. */
  readonly hasAnswerLine: boolean;
  /** The assistant's last text in it, behind all calls of tools and their results. */
  readonly answer: string;
  /** Whether it holds the output of the command that the prompt is, which Claude Code carries out by itself. */
  readonly isCarriedOut: boolean;
  /** Whether a hook has stopped the turn after a tool. */
  readonly isHalted: boolean;
  /** What it says in the place of an answer where a hook has blocked the prompt. */
  readonly blocked?: string | undefined;
  /** Whether the transcript says that the turn is complete, and nothing happened since. */
  readonly isComplete: boolean;
  /** Whether the transcript has said that it is complete: what came before that in the child is on record by then. */
  readonly hasEndLine: boolean;
}

/** What hooks have said of a turn's end, and what is still waited for then. */
interface AnnouncedEnd {
  /** The Stop that will be the end once the child is idle. */
  readonly stop?: HookPayload | undefined;
  /** The StopFailure that will be the end once the child is idle. */
  readonly failure?: HookPayload | undefined;
  /** At which limit a hook of ours has stopped the turn, which will be the end once the child is idle. */
  readonly limited?: "max-turns" | "budget" | "output-tries" | undefined;
  /** Whether no other hook of its end may have it go on any more: what they have wanted, the end of its lines tells. */
  readonly isAtLimit: boolean;
  /** When the hook that announced its end ran, in milliseconds since the epoch, where that is known. */
  readonly announcedAt?: number | undefined;
  /** Whether the Stop hook that announced its end waits for an answer, or did so. */
  readonly isStopAsking: boolean;
  /** The answer to the Stop hook that keeps the child from going on with what it has in its queue, until it is given. */
  readonly stopHook?: Answer | undefined;
  /** Whether the child has told what the turn cost since a hook announced its end. */
  readonly isCostSettled: boolean;
  /** Whether, by the announced end of the turn, the session had started nothing that may be in the background. */
  readonly isTaskless: boolean;
}

/** How far a turn is that the caller has stopped, as a person would. */
interface PressedEscapes {
  /** How often Escape was pressed to end it. */
  readonly escapes: number;
  /** Whether the child has drawn something since the last time. */
  readonly hasDrawn: boolean;
  /** For how many seconds the child has not come to where Escape can be pressed to end it, the first time or once more. */
  readonly stalls: number;
  /** Whether an Escape may have hit it that was meant for the turn before. */
  readonly mayHaveStaleEscape: boolean;
  /** The call of a running command after which the turn is stopped for an urgent message. */
  readonly stopsAfter?: string | undefined;
}

/** What goes on in the background of a turn. */
interface BackgroundTasks {
  /** Whether the last Stop named tasks still running in the background. */
  readonly hasBackgroundTasks: boolean;
  /** Whether nothing is under way but those. */
  readonly isOnlyBackground: boolean;
  /** Whether a Stop did, and the transcript does not hold a prompt since. */
  readonly awaitsPromptLine: boolean;
  /** The last Stop that did. */
  readonly backgroundStop?: HookPayload | undefined;
  /** The longest time that a call gave its shell in the background, in milliseconds. */
  readonly shellLimitMs?: number | undefined;
}

/** What is remembered of the structured answer that a turn owes. */
interface OutputMemory {
  /** How often the model has tried to give it. */
  readonly tries: number;
  /** The call by which it has been given, and whether the transcript holds its result. */
  readonly accepted?: { readonly callId: string; readonly written: boolean };
  /** Whether the model was reminded of it. */
  readonly reminded: boolean;
}

/** A turn of which nothing is known yet; what is undefined takes the place of what was known of the turn before. */
export const NO_TURN: TurnMemory = {
  taken: [],
  requests: 0,
  isPromptKnown: false,
  isWakeup: false,
  isTaskNotice: false,
  output: { tries: 0, reminded: false },
  awaitsEarlierLines: false,
  hasPromptLine: false,
  hasRequestLine: false,
  hasAnswerLine: false,
  answer: "",
  isCarriedOut: false,
  isHalted: false,
  blocked: undefined,
  isComplete: false,
  hasEndLine: false,
  stop: undefined,
  failure: undefined,
  limited: undefined,
  isAtLimit: false,
  announcedAt: undefined,
  isStopAsking: false,
  stopHook: undefined,
  isCostSettled: false,
  isTaskless: false,
  escapes: 0,
  hasDrawn: false,
  stalls: 0,
  mayHaveStaleEscape: false,
  stopsAfter: undefined,
  hasBackgroundTasks: false,
  isOnlyBackground: false,
  awaitsPromptLine: false,
  backgroundStop: undefined,
  shellLimitMs: undefined,
};
