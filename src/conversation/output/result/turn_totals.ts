import { summedUsage } from "../../../claude/transcript/cost.ts";
import type { Turn } from "../../../claude/transcript/turn.ts";
import type { JsonObject } from "../../../json_object.ts";
import { countSubagents, NO_SUBAGENTS, type SubagentCounts } from "./subagent_stats.ts";

/** What turns come to together, which is all that is asked of those whose results were told long ago. */
export interface TurnTotals {
  /** How many there are. */
  readonly count: number;
  /** The models that have answered. */
  readonly models: ReadonlySet<string>;
  /** The sum over their answers. */
  readonly usage: JsonObject;
  /** Whether one of them has been stopped. */
  readonly isCut: boolean;
  /** How often safeguards have stopped an answer. */
  readonly refusals: number;
  readonly subagents: SubagentCounts;
}

/** Of none. */
export const NO_TURNS: TurnTotals = {
  count: 0,
  models: new Set(),
  usage: {},
  isCut: false,
  refusals: 0,
  subagents: NO_SUBAGENTS,
};

/** What turns come to with those that follow them. */
export function withTurns(before: TurnTotals, turns: readonly Turn[]): TurnTotals {
  const models = turns.map(({ model }) => model).filter((model) => model !== undefined);
  return {
    count: before.count + turns.length,
    models: new Set([...before.models, ...models]),
    usage: summedUsage([before.usage, ...turns.map(({ usage }) => usage)]),
    isCut: before.isCut || turns.some(({ end }) => end !== undefined && end !== "completed"),
    refusals: turns.reduce((sum, { refusals }) => sum + refusals, before.refusals),
    subagents: countSubagents(before.subagents, turns),
  };
}
