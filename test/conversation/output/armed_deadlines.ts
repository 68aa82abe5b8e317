import { assert } from "@std/assert";
import { fold, type FoldWatcher } from "../../../src/conversation/output/advance.ts";
import type {
  ConversationEffect,
  ConversationOptions,
  ConversationState,
} from "../../../src/conversation/output/conversation.ts";
import type { DeadlineName, Input } from "../../../src/conversation/control/input.ts";
import type { Effect } from "../../../src/conversation/control/effect.ts";

/** The deadlines that a conversation has armed, and when they are due, in milliseconds on the clock of its inputs. */
export class ArmedDeadlines {
  readonly #due = new Map<DeadlineName, number>();

  /** Arms, disarms or postpones deadlines, if an effect asks for that. */
  apply(effect: ConversationEffect | Effect, now: number): void {
    if (effect.type === "postpone") {
      for (const [name, due] of this.#due) {
        if (name !== "timeout") this.#due.set(name, due + effect.byMs);
      }
    }
    if (effect.type !== "deadline") return;
    if (effect.afterMs === undefined) this.#due.delete(effect.name);
    else this.#due.set(effect.name, now + effect.afterMs);
  }

  get names(): readonly DeadlineName[] {
    return [...this.#due.keys()];
  }

  /** When a deadline is due; undefined if it is not armed. */
  dueAt(name: DeadlineName): number | undefined {
    return this.#due.get(name);
  }

  /** The first deadline that is due by a time, except those that never fire here. */
  next(
    until: number,
    ignored: readonly DeadlineName[] = [],
  ): { readonly name: DeadlineName; readonly due: number } | undefined {
    const [first] = [...this.#due].filter(([name, due]) => due <= until && !ignored.includes(name))
      .sort(([, one], [, other]) => one - other);
    return first && { name: first[0], due: first[1] };
  }

  /** Fires a deadline. Fails if it was not armed for that time or an earlier one. */
  fire(name: DeadlineName, at: number): void {
    const due = this.#due.get(name);
    assert(due !== undefined, `the deadline "${name}" at ${at} ms is not armed`);
    assert(due <= at, `the deadline "${name}" is due at ${due} ms, not at ${at} ms`);
    this.#due.delete(name);
  }
}

/** Folds the inputs of a recorded run. Fails if the conversation has not armed a deadline that was recorded. */
export function foldArmed(
  options: ConversationOptions,
  inputs: Iterable<Input>,
  { onInput, onEffect }: FoldWatcher = {},
): ConversationState {
  const armed = new ArmedDeadlines();
  let now = 0;
  return fold(options, inputs, {
    onInput: (input) => {
      now = input.at;
      if (input.type === "deadline") armed.fire(input.name, now);
      onInput?.(input);
    },
    onEffect: (effect) => {
      armed.apply(effect, now);
      onEffect?.(effect);
    },
  });
}
