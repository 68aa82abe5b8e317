import { advance, startConversation } from "../../../conversation/output/advance.ts";
import { type EffectPart, partsOf } from "../../../conversation/output/conversation.ts";
import type { Ending } from "../../../conversation/control/effect.ts";
import type { Frame } from "../../../claude/wire/frame.ts";
import type { PlayedCast } from "../cast.ts";
import { castSteps } from "./cast_steps.ts";
import { deedsOf, type OuterEffect } from "./deeds.ts";
import { describeDifference } from "./describe_difference.ts";
import { splitSteps } from "./split_steps.ts";

/** What the machines did with the inputs of a cast. */
export interface CastReplay {
  /** How the session ended; absent when the inputs stop before that. */
  readonly ending?: Ending;
  /** What was said. */
  readonly frames: readonly Frame[];
  /** One sentence for each moment at which something else was done than was recorded. */
  readonly differences: readonly string[];
}

/**
 * Gives a cast's inputs to the machines and compares what they do with what was recorded: keys, looks at the screen,
 * signals, sizes, what became of the run and the end.
 *
 * Deadlines and screens are inputs as they were recorded: these machines are not asked when they want them. The result
 * does not depend on how the terminal's output was cut into events.
 *
 * @param options.split cuts all output into pieces of so many bytes
 */
export function replayCast(
  cast: PlayedCast,
  { split }: { readonly split?: number | undefined } = {},
): CastReplay {
  const { conversation, output } = cast.header.claude_print;
  let state = startConversation(conversation);
  let ending: Ending | undefined;
  const frames: Frame[] = [];
  const differences: string[] = [];
  let moment = { at: 0, recorded: [] as OuterEffect[], now: [] as OuterEffect[] };
  const compare = () => {
    const { at, recorded, now } = moment;
    const difference = describeDifference(deedsOf(recorded), deedsOf(now));
    if (difference !== undefined) differences.push(`At ${(at / 1000).toFixed(3)} s ${difference}`);
  };
  const steps = castSteps(cast);
  for (const { input, effects, goesOn } of split === undefined ? steps : splitSteps(steps, split)) {
    if (!goesOn) {
      compare();
      moment = { at: input.at, recorded: [], now: [] };
    }
    const next = advance(state, input);
    state = next.state;
    moment.recorded.push(...effects);
    for (const effect of next.effects.flatMap(partsOf)) {
      if (effect.type === "frame") frames.push(effect.frame);
      if (effect.type === "end") ending ??= effect.ending;
      // Before there was a record of how it printed, a run recorded nothing of what it said.
      if (effect.type === "report" && output === undefined) continue;
      moment.now.push(...outerEffect(effect));
    }
  }
  compare();
  return { ...(ending === undefined ? {} : { ending }), frames, differences };
}

/** An effect as it is recorded, if it is. */
function outerEffect(effect: EffectPart): readonly OuterEffect[] {
  switch (effect.type) {
    case "write":
      return [{ type: "write", text: new TextDecoder().decode(effect.bytes) }];
    case "deadline":
    case "postpone":
    case "trace":
    case "place-image":
    case "note-tools":
    case "named":
    case "log":
    case "whole":
    case "frame":
      return [];
    case "report":
      return [withoutResult(effect)];
    default:
      return [effect];
  }
}

/** What became of a run, without its result, which is a frame. */
export function withoutResult(
  { report }: Extract<EffectPart, { readonly type: "report" }>,
): OuterEffect {
  const { result: _, ...rest } = report;
  return { type: "report", report: rest } as OuterEffect;
}
