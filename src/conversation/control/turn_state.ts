import type { Answer } from "./effect.ts";
import type { HookPayload } from "./input.ts";
import type { Prompt } from "./message.ts";

/** The state of a turn, and of the turns that its background tasks start. */
export interface TurnState extends TurnRecord, AnnouncedEnd, TurnStop, BackgroundTasks {
  /** The prompts that the child has taken for this turn. */
  readonly taken: readonly Prompt[];
  /** The number of the turn's requests to the model that were answered and whose tools have returned. */
  readonly requests: number;
  /** Whether a hook or the transcript has shown the turn's prompt. */
  readonly isPromptKnown: boolean;
  /** Whether the turn is known to be that of a wake-up, that is, of a scheduled prompt. */
  readonly isWakeup: boolean;
  /** Whether the turn is known to be that of a task's end. */
  readonly isTaskNotice: boolean;
  /** The turn's structured answer. */
  readonly output: OutputState;
}

/** The transcript's facts about a turn. */
interface TurnRecord {
  /** Whether lines of the previous turn are unread. No line before this turn's own prompt belongs to this turn. */
  readonly awaitsEarlierLines: boolean;
  /** When a hook ran that showed the end of the previous turn, in milliseconds since the epoch, if known. */
  readonly beganAfter?: number | undefined;
  readonly hasPromptLine: boolean;
  /** Whether the transcript holds the first request. */
  readonly hasRequestLine: boolean;
  /** Whether the transcript holds an answer after the prompt. */
  readonly hasAnswerLine: boolean;
  /** The assistant's last text, if no tool call and no result follows it. */
  readonly answer: string;
  /** Whether the prompt is a command that Claude Code carries out itself, and the transcript holds its output. */
  readonly isCarriedOut: boolean;
  /** Whether a hook has stopped the turn after a tool. */
  readonly isHalted: boolean;
  /** Claude Code's text instead of an answer, if a hook has blocked the prompt. */
  readonly blocked?: string | undefined;
  /** Whether the transcript shows that the turn is complete, and no line of another kind follows. */
  readonly isComplete: boolean;
  /** Whether the transcript shows that the turn is complete. Then all earlier lines of the child are written. */
  readonly hasEndLine: boolean;
}

/** The end of a turn as hooks have announced it, and the events that are still awaited. */
interface AnnouncedEnd {
  /** The Stop hook that will be the end once the child is idle. */
  readonly stop?: HookPayload | undefined;
  /** The StopFailure hook that will be the end once the child is idle. */
  readonly failure?: HookPayload | undefined;
  /** The limit at which a hook of ours has stopped the turn. It will be the end once the child is idle. */
  readonly limited?: "max-turns" | "budget" | "output-tries" | undefined;
  /** Whether no other Stop hook can continue the turn. Their feedback is in the lines up to the turn's end. */
  readonly isAtLimit: boolean;
  /** When the hook that announced the end ran, in milliseconds since the epoch, if known. */
  readonly announcedAt?: number | undefined;
  /** Whether the Stop hook that announced the end waits or has waited for an answer. */
  readonly isStopAsking: boolean;
  /** The pending answer to the Stop hook. Until it is sent, the child does not continue with its queue. */
  readonly stopHook?: Answer | undefined;
  /** Whether the child has reported the turn's cost since a hook announced its end. */
  readonly isCostSettled: boolean;
  /** Whether the session had started no task that may be in the background, when the end was announced. */
  readonly isTaskless: boolean;
}

/** The progress of stopping a turn, by pressing Escape as a person would. */
interface TurnStop {
  /** How often Escape was pressed to end the turn. */
  readonly escapes: number;
  /** Whether the child has drawn something since the last Escape. */
  readonly hasDrawn: boolean;
  /** The number of seconds in which the child could not be stopped, or has not reacted to Escape. */
  readonly stalls: number;
  /** Whether an Escape for the previous turn may have hit this one. */
  readonly mayHaveStaleEscape: boolean;
  /** The call of a running command after which the turn will be stopped for an urgent message. */
  readonly stopsAfter?: string | undefined;
}

/** The background tasks of a turn. */
interface BackgroundTasks {
  /** Whether the last Stop hook named tasks that still run in the background. */
  readonly hasBackgroundTasks: boolean;
  /** Whether nothing but these tasks is running. */
  readonly isOnlyBackground: boolean;
  /** Whether a Stop hook named tasks, and the transcript holds no later prompt. */
  readonly awaitsPromptLine: boolean;
  /** The last Stop hook that named tasks. */
  readonly backgroundStop?: HookPayload | undefined;
  /** The longest time that a call gave its background shell, in milliseconds. */
  readonly shellLimitMs?: number | undefined;
}

/** The state of the structured answer that a turn has to give. */
interface OutputState {
  /** The number of the model's attempts to give the structured answer. */
  readonly tries: number;
  /** The call that gave the structured answer, and whether the transcript holds its result. */
  readonly accepted?: { readonly callId: string; readonly written: boolean };
  /** Whether the model was reminded of the structured answer. */
  readonly reminded: boolean;
}

/** A new turn. Its undefined fields replace those of the previous turn. */
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
