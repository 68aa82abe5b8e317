import type { RecordedStep, StepContent } from "./conversation_steps.ts";
import { firstDifference } from "../../relay/exchanges/first_difference.ts";
import { masked } from "../../relay/exchanges/masks.ts";
import { jsonLine } from "../../../claude/wire/json_text.ts";

/** How two conversations compare. */
export interface ConversationComparison {
  /** What both have in common at their beginning. */
  readonly common: { readonly turns: number; readonly steps: number };
  /** How many turns each has. */
  readonly turns: readonly [number, number];
  /** The models of each, in the order in which they first spoke. */
  readonly models: readonly [readonly string[], readonly string[]];
  /** Where they part; absent where they do not. */
  readonly parting?: Parting;
}

/** The first step that is another in each of two conversations. */
export interface Parting {
  readonly turn: number;
  /** What is there in either; absent where the conversation is over. */
  readonly one?: StepContent;
  readonly other?: StepContent;
  /** The first difference of both steps, where there are two. */
  readonly difference?: StepDifference;
}

/** Where two steps differ first. */
export interface StepDifference {
  /** The place in the step as a JSON pointer. */
  readonly pointer: string;
  /** What stands there in either, in short; absent for nothing. */
  readonly one?: string;
  readonly other?: string;
}

/**
 * Finds where two conversations part, but for what is another in each run though nothing else happens. Who speaks is told
 * and does not count: what another model says is looked at.
 */
export function compareConversations(
  one: readonly RecordedStep[],
  other: readonly RecordedStep[],
): ConversationComparison {
  const models = [one, other].map((steps) => [
    ...new Set(steps.flatMap(({ model }) => model ?? [])),
  ]) as [string[], string[]];
  const turns = [one, other].map((steps) => steps.at(-1)?.turn ?? 0) as [number, number];
  const texts = [one, other].map((steps) =>
    steps.map(({ content }) => masked(jsonLine(content)))
  ) as [string[], string[]];
  const most = Math.max(one.length, other.length);
  for (let steps = 0; steps < most; steps++) {
    const [text, otherText] = [texts[0][steps], texts[1][steps]];
    if (text === otherText) continue;
    const [step, otherStep] = [one[steps], other[steps]];
    const turn = Math.min(step?.turn ?? Infinity, otherStep?.turn ?? Infinity);
    const difference = text === undefined || otherText === undefined
      ? undefined
      : differenceOf(text, otherText);
    return {
      common: { turns: Math.max(0, turn - 1), steps },
      turns,
      models,
      parting: {
        turn,
        ...(step === undefined ? {} : { one: step.content }),
        ...(otherStep === undefined ? {} : { other: otherStep.content }),
        ...(difference === undefined ? {} : { difference }),
      },
    };
  }
  return { common: { turns: turns[0], steps: most }, turns, models };
}

function differenceOf(one: string, other: string): StepDifference {
  const { pointer = "", recorded, asked } = firstDifference(one, other) ?? {};
  return {
    pointer,
    ...(recorded === undefined ? {} : { one: recorded }),
    ...(asked === undefined ? {} : { other: asked }),
  };
}
