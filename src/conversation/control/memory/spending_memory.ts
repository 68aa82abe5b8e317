import type { SessionOptions } from "../session_options.ts";

/** What is remembered of money: what the conversation has cost, and which tools wait for the price of an answer. */
export interface SpendingMemory {
  /** What the conversation has cost, in US dollars, as far as the child has told. */
  readonly spentUsd: number;
  /** How long it has spent in requests to the API, in milliseconds, as far as the child has told. */
  readonly apiDurationMs: number;
  /** PreToolUse hooks that wait for the price of the answer that calls their tools, and the agents of those. */
  readonly unpaid: readonly { readonly id: string; readonly agent: string }[];
  /** The agents, by id, the main one's being empty, whose last answer has been paid or is waited for. */
  readonly paidAgents: ReadonlySet<string>;
}

/** The child has cost nothing. */
export function nothingSpent({ paidUsd = 0 }: Pick<SessionOptions, "paidUsd">): SpendingMemory {
  return { spentUsd: paidUsd, apiDurationMs: 0, unpaid: [], paidAgents: new Set() };
}

/** Whether the conversation has cost as much as it may: then no further request is made. */
export function isOverspent(
  { options: { maxBudgetUsd }, spentUsd }: Pick<SpendingMemory, "spentUsd"> & {
    readonly options: Pick<SessionOptions, "maxBudgetUsd">;
  },
): boolean {
  return maxBudgetUsd !== undefined && spentUsd >= maxBudgetUsd;
}
