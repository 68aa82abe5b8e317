import { sumUsage } from "../../../claude/transcript/cost.ts";
import type { ToolUse, Turn } from "../../../claude/transcript/turn.ts";
import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";

/** Counts of the subagents that a run started, as `claude -p` prints them (`subagent_stats`). */
export interface SubagentStats {
  readonly spawned: number;
  /** By the `run_in_background` of the call. */
  readonly requested: {
    readonly background: number;
    readonly foreground: number;
    readonly unset: number;
  };
  readonly started_in_background: number;
  readonly max_depth: number;
  readonly spawned_by_subagents: number;
  readonly completed: number;
  readonly failed: number;
  readonly killed: { readonly parent: number; readonly user: number; readonly system: number };
  readonly refused: {
    readonly depth_limit: number;
    readonly concurrency_limit: number;
    readonly budget: number;
  };
  readonly by_type: Readonly<Record<string, number>>;
}

const NO_STATS: SubagentStats = {
  spawned: 0,
  requested: { background: 0, foreground: 0, unset: 0 },
  started_in_background: 0,
  max_depth: 0,
  spawned_by_subagents: 0,
  completed: 0,
  failed: 0,
  killed: { parent: 0, user: 0, system: 0 },
  refused: { depth_limit: 0, concurrency_limit: 0, budget: 0 },
  by_type: {},
};

/** Counts of the subagents that turns have started, from the results of their calls. */
interface SubagentCounts {
  readonly requested: SubagentStats["requested"];
  readonly background: number;
  readonly completed: number;
  readonly failed: number;
  readonly byType: Readonly<Record<string, number>>;
  /** The ids of the background subagents. Their ends are found by these ids. */
  readonly inBackground: readonly string[];
}

export const NO_SUBAGENTS: SubagentCounts = {
  requested: NO_STATS.requested,
  background: 0,
  completed: 0,
  failed: 0,
  byType: {},
  inBackground: [],
};

/** The result of a call whose foreground subagent met an API error. */
const TERMINATED = /^Agent terminated early\b/u;

/**
 * Counts the subagents that further turns of the session have started.
 *
 * The session's transcript holds no line for subagents of subagents and for refused calls, so they are not counted.
 */
function countSubagents(
  before: SubagentCounts,
  turns: readonly Turn[],
): SubagentCounts {
  const called = turns.flatMap(({ toolUses }) => toolUses.filter(startsSubagent));
  const uses = new Map(called.map((use) => [use.id, use]));
  const requested = { ...before.requested };
  const byType = new Map(Object.entries(before.byType));
  const inBackground = [...before.inBackground];
  let { background, completed, failed } = before;

  for (const result of turns.flatMap((turn) => turn.toolResults)) {
    const use = uses.get(result.toolUseId);
    if (use === undefined) continue;
    const launched = fieldsOf(result.entry.toolUseResult);
    const isTerminated = result.isError && TERMINATED.test(result.text);
    if (typeof launched.agentId !== "string" && !isTerminated) continue;
    const input = fieldsOf(use.input);
    if (input.run_in_background === true) requested.background++;
    else if (input.run_in_background === false) requested.foreground++;
    else requested.unset++;
    if (launched.isAsync === true) background++;
    if (isTerminated) failed++;
    else if (launched.isAsync === true) inBackground.push(asText(launched.agentId));
    else if (launched.status === "completed") completed++;
    else if (launched.status === "failed") failed++;
    const type = typeof launched.agentType === "string" ? launched.agentType : input.subagent_type;
    const name = typeof type === "string" ? type : "general-purpose";
    byType.set(name, (byType.get(name) ?? 0) + 1);
  }

  return {
    requested,
    background,
    completed,
    failed,
    byType: Object.fromEntries(byType),
    inBackground,
  };
}

/** Whether a call starts a subagent. */
function startsSubagent({ name }: ToolUse): boolean {
  return name === "Agent" || name === "Task";
}

/** The number of subagents that have been started. */
export function spawnedIn({ requested }: SubagentCounts): number {
  return requested.background + requested.foreground + requested.unset;
}

/**
 * Returns the counts of a run's subagents as `claude -p` prints them.
 *
 * @param options.stopped how many were still running when the run ended
 * @param options.before the counts of earlier children of the conversation
 * @param options.ends the statuses with which subagents in the background ended, by their ids
 */
export function subagentStats(
  counts: SubagentCounts,
  { stopped = 0, before = NO_STATS, ends = new Map() }: {
    readonly stopped?: number;
    readonly before?: SubagentStats | undefined;
    readonly ends?: Pick<ReadonlyMap<string, string>, "get">;
  } = {},
): SubagentStats {
  const spawned = before.spawned + spawnedIn(counts);
  const byType = new Map(Object.entries(before.by_type));
  for (const [name, count] of Object.entries(counts.byType)) {
    byType.set(name, (byType.get(name) ?? 0) + count);
  }
  const ended = (status: string) =>
    counts.inBackground.filter((id) => ends.get(id) === status).length;
  return {
    ...before,
    spawned,
    requested: {
      background: before.requested.background + counts.requested.background,
      foreground: before.requested.foreground + counts.requested.foreground,
      unset: before.requested.unset + counts.requested.unset,
    },
    started_in_background: before.started_in_background + counts.background,
    max_depth: spawned > 0 ? 1 : 0,
    completed: before.completed + counts.completed + ended("completed"),
    failed: before.failed + counts.failed + ended("failed"),
    killed: { ...before.killed, system: before.killed.system + stopped },
    by_type: Object.fromEntries(byType),
  };
}

function fieldsOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The totals of several turns. After results were printed, only the totals of their turns are kept. */
export interface TurnTotals {
  /** The number of turns. */
  readonly count: number;
  /** The models that have answered. */
  readonly models: ReadonlySet<string>;
  /** The sum of the usage of all answers. */
  readonly usage: JsonObject;
  /** Whether one of the turns was stopped. */
  readonly isCut: boolean;
  /** The number of answers that safeguards stopped. */
  readonly refusals: number;
  readonly subagents: SubagentCounts;
}

export const NO_TURNS: TurnTotals = {
  count: 0,
  models: new Set(),
  usage: {},
  isCut: false,
  refusals: 0,
  subagents: NO_SUBAGENTS,
};

/** Adds further turns to totals. */
export function withTurns(before: TurnTotals, turns: readonly Turn[]): TurnTotals {
  const models = turns.map(({ model }) => model).filter((model) => model !== undefined);
  return {
    count: before.count + turns.length,
    models: new Set([...before.models, ...models]),
    usage: sumUsage([before.usage, ...turns.map(({ usage }) => usage)]),
    isCut: before.isCut || turns.some(({ end }) => end !== undefined && end !== "completed"),
    refusals: turns.reduce((sum, { refusals }) => sum + refusals, before.refusals),
    subagents: countSubagents(before.subagents, turns),
  };
}
