import type { Answer } from "./effect.ts";
import type { HookPayload } from "./input.ts";
import type { Prompt } from "./message.ts";

/** The state of a turn, and of those that its tasks in the background start. */
export interface TurnState extends TurnRecord, AnnouncedEnd, TurnStop, BackgroundTasks {
  /** The prompts that the child has taken as the turn's. */
  readonly taken: readonly Prompt[];
  /** How many requests to the model were answered in the turn, and have had the results of their tools. */
  readonly requests: number;
  /** Whether a hook or the transcript has told of the turn's prompt. */
  readonly isPromptKnown: boolean;
  /** Whether the turn is known to be that of a wake-up: of a prompt that has waited for its time. */
  readonly isWakeup: boolean;
  /** Whether the turn is known to be that of the end of a task. */
  readonly isTaskNotice: boolean;
  /** The turn's structured answer. */
  readonly output: OutputState;
}

/** What the transcript holds of a turn. */
interface TurnRecord {
  /** Whether lines of the turn before are still to be written: no line before the own prompt's is the turn's. */
  readonly awaitsEarlierLines: boolean;
  /** When a hook ran that showed the end of the turn before, in milliseconds since the epoch, where that is known. */
  readonly beganAfter?: number | undefined;
  readonly hasPromptLine: boolean;
  /** Whether the transcript holds the first request. */
  readonly hasRequestLine: boolean;
  /** Whether the transcript holds an answer after the prompt. */
  readonly hasAnswerLine: boolean;
  /** The assistant's last text, if no call of a tool and no result follows it. */
  readonly answer: string;
  /** Whether the transcript holds the output of the command that the prompt is, which Claude Code carries out itself. */
  readonly isCarriedOut: boolean;
  /** Whether a hook has stopped the turn after a tool. */
  readonly isHalted: boolean;
  /** What Claude Code says in place of an answer where a hook has blocked the prompt. */
  readonly blocked?: string | undefined;
  /** Whether the transcript says that the turn is complete, and no line of another kind follows. */
  readonly isComplete: boolean;
  /** Whether the transcript says that the turn is complete: then all that came before that in the child is written. */
  readonly hasEndLine: boolean;
}

/** What hooks have announced of a turn's end, and what is still waited for then. */
interface AnnouncedEnd {
  /** The Stop that will be the end once the child is idle. */
  readonly stop?: HookPayload | undefined;
  /** The StopFailure that will be the end once the child is idle. */
  readonly failure?: HookPayload | undefined;
  /** The limit at which a hook of ours has stopped the turn, which will be the end once the child is idle. */
  readonly limited?: "max-turns" | "budget" | "output-tries" | undefined;
  /** Whether no other Stop hook can make the turn go on: what they wanted is in the lines up to the turn's end. */
  readonly isAtLimit: boolean;
  /** When the hook that announced the end ran, in milliseconds since the epoch, where that is known. */
  readonly announcedAt?: number | undefined;
  /** Whether the Stop hook that announced the end waits for an answer, or did so. */
  readonly isStopAsking: boolean;
  /** The pending answer to the Stop hook; until it is given, the child does not go on with what is in its queue. */
  readonly stopHook?: Answer | undefined;
  /** Whether the child has reported the turn's cost since a hook announced its end. */
  readonly isCostSettled: boolean;
  /** Whether, at the announced end, the session had started nothing that may be in the background. */
  readonly isTaskless: boolean;
}

/** How far the stop of a turn is, which presses Escape as a person would. */
interface TurnStop {
  /** How often Escape was pressed to end the turn. */
  readonly escapes: number;
  /** Whether the child has drawn something since the last Escape. */
  readonly hasDrawn: boolean;
  /** For how many seconds the child could not be stopped, or has not reacted to Escape. */
  readonly stalls: number;
  /** Whether an Escape for the turn before may have hit this one. */
  readonly mayHaveStaleEscape: boolean;
  /** The call of a running command after which the turn is stopped for an urgent message. */
  readonly stopsAfter?: string | undefined;
}

/** The tasks in the background of a turn. */
interface BackgroundTasks {
  /** Whether the last Stop named tasks that still run in the background. */
  readonly hasBackgroundTasks: boolean;
  /** Whether nothing but those is under way. */
  readonly isOnlyBackground: boolean;
  /** Whether a Stop named tasks, and the transcript does not hold a prompt since. */
  readonly awaitsPromptLine: boolean;
  /** The last Stop that named tasks. */
  readonly backgroundStop?: HookPayload | undefined;
  /** The longest time that a call gave its shell in the background, in milliseconds. */
  readonly shellLimitMs?: number | undefined;
}

/** The state of the structured answer that a turn owes. */
interface OutputState {
  /** How often the model has tried to give it. */
  readonly tries: number;
  /** The call by which it has been given, and whether the transcript holds its result. */
  readonly accepted?: { readonly callId: string; readonly written: boolean };
  /** Whether the model was reminded of it. */
  readonly reminded: boolean;
}

/** A new turn. Its undefined fields replace those of the turn before. */
export const NO_TURN: TurnState = {
  taken: [],
  requests: 0,
  isPromptKnown: false,
  isWakeup: false,
  isTaskNotice: false,
  output: { tries: 0, reminded: false },
  awaitsEarlierLines: false,
  beganAfter: undefined,
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
