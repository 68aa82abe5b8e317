import type { ApiFault } from "../../control/input.ts";
import type { ExactState } from "../telling/exact_state.ts";
import type { HeardFirsts } from "../telling/heard_firsts.ts";
import type { PartialState } from "../telling/partial_state.ts";

/** What is remembered of answers that are being written, and of requests for them. */
export interface AnswerMemory {
  /** What has been told of answers that are being written, if that is wanted, in the one way or the other. */
  readonly partial?: PartialState;
  readonly exact?: ExactState;
  /** What is known of it where answers are not told by it. */
  readonly heard?: HeardFirsts;
  /** The ids that `message_start` told since the last result; absent where nobody wants answers live. */
  readonly streamed?: readonly string[];
  /** Whether it has been said that the model is asked; absent where nobody wants to hear of it. */
  readonly requested?: boolean;
  /** The last request that has failed, until it is known whether it is made again. */
  readonly fault?: ApiFault;
  /** The number of that request, once its retry has been told though the screen has not announced it. */
  readonly missed?: number;
}
