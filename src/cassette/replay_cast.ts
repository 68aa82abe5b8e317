import type { Effect, Ending } from "../session/effect.ts";
import { step } from "../session/machine.ts";
import { startSession } from "../session/session_state.ts";
import type { Cast } from "./cast.ts";
import { castMoments } from "./cast_moments.ts";
import { deedsOf, type OuterEffect } from "./deeds.ts";
import { describeDifference } from "./describe_difference.ts";

/** What the session machine did with the inputs of a cast. */
export interface CastReplay {
  /** How the session ended; absent when the inputs stop before that. */
  readonly ending?: Ending;
  /** One sentence for each moment at which it did something else than was recorded. */
  readonly differences: readonly string[];
}

/**
 * Gives a cast's inputs to the session machine and compares what it does with what was recorded: keys, looks at the
 * screen, signals, sizes and the end.
 *
 * Deadlines and screens are inputs as they were recorded: this machine is not asked when it wants them. The result does
 * not depend on how the terminal's output was cut into events.
 */
export function replayCast(cast: Cast): CastReplay {
  let state = startSession(cast.header.claude_print.session);
  let ending: Ending | undefined;
  const differences: string[] = [];
  for (const { at, inputs, deeds: recorded } of castMoments(cast)) {
    const effects: Effect[] = [];
    for (const input of inputs) {
      const next = step(state, input);
      state = next.state;
      effects.push(...next.effects);
    }
    ending ??= effects.find((effect) => effect.type === "end")?.ending;
    const now = deedsOf(effects.flatMap(outerEffect));
    const difference = describeDifference(recorded, now);
    if (difference !== undefined) differences.push(`At ${(at / 1000).toFixed(3)} s ${difference}`);
  }
  return { ...(ending === undefined ? {} : { ending }), differences };
}

/** An effect as it is recorded, if it is. */
function outerEffect(effect: Effect): readonly OuterEffect[] {
  switch (effect.type) {
    case "write":
      return [{ type: "write", text: new TextDecoder().decode(effect.bytes) }];
    case "deadline":
    case "trace":
      return [];
    default:
      return [effect];
  }
}
