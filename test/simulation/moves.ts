import type { Choices } from "./choices.ts";

/** A call that the simulated model makes. */
export interface CallMove {
  readonly tool: "Bash" | "Agent" | "ScheduleWakeup";
  /** Whether it is carried out only if the caller allows it. */
  readonly needsPermission?: true;
  /** Whether the turn goes on before what it starts has ended. */
  readonly isBackground?: true;
  /** What a subagent does, one after the other. */
  readonly moves?: readonly Move[];
}

/** What the simulated model does in answer to a request, or what becomes of the request. */
export type Move =
  /** It answers, and has nothing more to do. */
  | { readonly kind: "text" }
  /** It makes calls, perhaps after some words. */
  | { readonly kind: "calls"; readonly calls: readonly CallMove[]; readonly isWordy?: true }
  /** The API fails, for good. */
  | { readonly kind: "failure" }
  /** The API fails, and is asked again. */
  | { readonly kind: "retry" }
  /** The API never completes its answer. */
  | { readonly kind: "hang" };

/** What a simulated model does: in each answer, as long as its turn goes on. */
export interface Moves {
  /** Returns what it does in answer to a request of a turn, or of a subagent, which has made so many before. */
  next(requests: number, who: "turn" | "agent"): Move;
}

/** How many requests a turn makes at most. */
const MOST_REQUESTS = 4;

/** A model that does what is chosen, and comes to an end. */
export class ChosenMoves implements Moves {
  readonly #choices: Choices;
  /** Whether the API may leave a request unanswered. */
  readonly #isReliable: boolean;
  #agents = 0;

  constructor(choices: Choices) {
    this.#choices = choices;
    this.#isReliable = !choices.happens(100);
  }

  next(requests: number, who: "turn" | "agent"): Move {
    const choices = this.#choices;
    if (requests >= (who === "turn" ? MOST_REQUESTS : 2)) return { kind: "text" };
    if (!this.#isReliable && choices.happens(100)) {
      return { kind: choices.pick(["failure", "hang"]) };
    }
    if (choices.happens(50)) return { kind: "retry" };
    if (!choices.happens(550)) return { kind: "text" };
    const wordy = choices.happens(200) ? { isWordy: true as const } : {};
    const calls = [this.#call(who)];
    if (choices.happens(200)) calls.push(this.#call(who));
    return { kind: "calls", calls, ...wordy };
  }

  #call(who: "turn" | "agent"): CallMove {
    const choices = this.#choices;
    if (who === "turn" && choices.happens(200)) {
      if (choices.happens(200)) return { tool: "ScheduleWakeup" };
      // A few are enough to meet each other.
      if (this.#agents++ < 3) {
        return { tool: "Agent", ...(choices.happens(400) ? { isBackground: true } : {}) };
      }
    }
    if (who === "turn" && choices.happens(150)) return { tool: "Bash", isBackground: true };
    return { tool: "Bash", ...(choices.happens(300) ? { needsPermission: true } : {}) };
  }
}
