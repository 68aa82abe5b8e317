import type { AssistantEntry, Entry, UserEntry } from "../entry.ts";

/** What lines of a turn say of its answers beside those. */
export interface ToldAnswers {
  /** How many were refused, with those that have left no line. */
  readonly refusals: number;
  /** Whether one has left no line. */
  readonly unseen: boolean;
  /** The last line by which the model is told that it has said nothing. */
  readonly nudge: UserEntry | undefined;
}

/** What Claude Code says to the model of the answer before: that it was refused, said nothing, or was too long. */
const REFUSED = "Your response above was stopped by a safety classifier";
const NOTHING_SAID = "[Your previous response had no visible output.";
const TOO_LONG = "Output token limit hit.";

/**
 * @param answers those that have lines
 * @param options.followers what the model was told in the turn
 * @param options.last the last answer, or what stands in the place of one
 */
export function toldAnswers(
  answers: readonly AssistantEntry[],
  { followers, last }: {
    readonly followers: readonly UserEntry[];
    readonly last: AssistantEntry | undefined;
  },
): ToldAnswers {
  const remarks = followers.filter(({ meaning }) => meaning === "remark");
  const said = (beginning: string) => remarks.filter((entry) => isSaid(entry, beginning));
  const stoppedBy = (reason: string) =>
    answers.filter(({ message }) => message.stop_reason === reason).length;
  const nudge = said(NOTHING_SAID).at(-1);
  // The model is told of a refusal and goes on, once; the last one has words of Claude Code's in its place.
  const isLast = last?.isApiErrorMessage === true && last.message.stop_reason === "refusal";
  const [refused, toldRefused] = [stoppedBy("refusal"), said(REFUSED).length + (isLast ? 1 : 0)];
  return {
    refusals: Math.max(refused, toldRefused),
    unseen: nudge !== undefined || toldRefused > refused ||
      said(TOO_LONG).length > stoppedBy("max_tokens"),
    nudge,
  };
}

function isSaid({ message: { content } }: UserEntry, beginning: string): boolean {
  return typeof content === "string" && content.startsWith(beginning);
}

/** What an answer says of its end that is whole, though an error follows it at once. */
const WHOLE: readonly unknown[] = ["max_tokens", "refusal", "model_context_window_exceeded"];

/** The answer at the end of which the API failed: the last but one of the messages, if so. */
export function brokenOff(messages: readonly Entry[]): AssistantEntry | undefined {
  const [answer, error] = messages.slice(-2);
  return answer?.type === "assistant" && error?.type === "assistant" &&
      error.isApiErrorMessage === true && !WHOLE.includes(answer.message.stop_reason)
    ? answer
    : undefined;
}
