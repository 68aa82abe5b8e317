import type { Choices } from "./choices.ts";
import type { Gate } from "./schedule.ts";

/** A call that the simulated model makes. */
export interface CallMove {
  readonly tool: string;
  /** Whether it is carried out only if the caller allows it. */
  readonly needsPermission?: true;
  /** Whether the turn goes on before what it starts has ended. */
  readonly isBackground?: true;
  /** What a subagent does, one after the other. */
  readonly moves?: readonly Move[];
  /** Whether the tool fails, or somebody else's hook refuses the call (the recordings `tools` and `hooks`). */
  readonly fails?: true;
  /** What ends a command or a subagent in the background, where that is not chosen. */
  readonly end?: Gate;
  /** How many dialogs of auto mode a person has to answer (the recording `dialog-auto-mode-unchecked`). */
  readonly dialogs?: number;
  /** How many pieces of output are seen while the command runs (the recording `shell-output`). */
  readonly outputs?: number;
}

/** A block of an answer: `lines` is text that is shown in two pieces. */
export type Block = "text" | "thinking" | "lines";

/** What the simulated model does in answer to a request, or what becomes of the request. */
export type Move =
  /** It answers, and has nothing more to do. */
  | { readonly kind: "text"; readonly says?: readonly Block[] }
  /** It makes calls, perhaps after some words. */
  | {
    readonly kind: "calls";
    readonly calls: readonly CallMove[];
    readonly says?: readonly Block[];
  }
  /** A classifier stops its answer, and it is asked once more (the recording `refusal`). */
  | { readonly kind: "refusal" }
  /** The API fails, for good: after so many faults that are seen, or in the middle of an answer. */
  | { readonly kind: "failure"; readonly faults?: number; readonly says?: readonly Block[] }
  /** The API fails, and is asked again. */
  | { readonly kind: "retry" }
  /** The API never completes its answer, and perhaps does not begin it. */
  | { readonly kind: "hang"; readonly isSilent?: true };

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
      return this.#trouble();
    }
    if (choices.happens(50)) return { kind: "retry" };
    if (who === "turn" && choices.happens(10)) return { kind: "refusal" };
    if (!choices.happens(550)) return { kind: "text", ...this.#words() };
    const wordy = choices.happens(200) ? this.#words() : {};
    const calls = [this.#call(who)];
    if (choices.happens(200)) calls.push(this.#call(who));
    return { kind: "calls", calls, ...wordy };
  }

  #trouble(): Move {
    const choices = this.#choices;
    if (choices.happens(500)) {
      return { kind: "hang", ...(choices.happens(300) ? { isSilent: true } : {}) };
    }
    const faults = choices.below(3);
    return { kind: "failure", faults, ...(choices.happens(300) ? this.#words() : {}) };
  }

  /** What it says, mostly without thinking. */
  #words(): { readonly says: readonly Block[] } {
    return { says: this.#choices.happens(100) ? ["thinking", "text"] : ["text"] };
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
    return {
      tool: "Bash",
      ...(choices.happens(300) ? { needsPermission: true } : {}),
      ...(choices.happens(100) ? { fails: true } : {}),
      ...(choices.happens(200) ? { outputs: 1 + choices.below(2) } : {}),
    };
  }
}
