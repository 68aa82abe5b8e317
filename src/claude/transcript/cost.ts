import type { Entry } from "./entry.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** The cost of a session by the child's own count, subagents included. */
export interface Cost {
  /** US dollars. */
  readonly totalUsd: number;
  /** Milliseconds spent in API requests, retries included. */
  readonly apiDurationMs: number;
  /** Counts and cost by model, in Claude Code's own field names (`inputTokens`, `costUSD`, …). */
  readonly modelUsage: Readonly<Record<string, JsonObject>>;
  /** True if the child has no price for one of the models; undefined if it does not say. */
  readonly hasUnknownPrice: boolean | undefined;
}

/** Lines of files that a child has added and removed. */
interface ChangedLines {
  readonly added: number;
  readonly removed: number;
}

/** The cost of a child so far, from its status line. */
export interface Spent extends Pick<Cost, "totalUsd" | "apiDurationMs"> {
  /** Absent if the status line has none. */
  readonly lines?: ChangedLines;
}

/**
 * Reads the cost that a child writes into `.claude.json` at its end: the `last…` fields of the project whose
 * `lastSessionId` is the session's. Undefined if there is none, as after SIGKILL.
 *
 * In 2.1.330 the numbers of a resumed session include those of earlier runs, as with `claude -p`.
 */
export function readCostOfClaudeJson(json: unknown, sessionId: string): Cost | undefined {
  if (!isJsonObject(json) || !isJsonObject(json.projects)) return undefined;
  for (const project of Object.values(json.projects)) {
    if (!isJsonObject(project) || project.lastSessionId !== sessionId) continue;
    return costFrom({
      totalUsd: project.lastCost,
      apiDurationMs: project.lastAPIDuration,
      modelUsage: project.lastModelUsage,
      hasUnknownPrice: undefined,
    });
  }
  return undefined;
}

/**
 * Reads the cost from the last `cost-state` line of a transcript, which a child writes at its end since Claude Code
 * 2.1.330. It also has the two lifetimes of cache writes, which `.claude.json` does not have.
 */
export function readCostOfEntries(entries: readonly Entry[]): Cost | undefined {
  const line = entries.findLast((entry) =>
    entry.type === "other" && entry.line.type === "cost-state"
  );
  if (line?.type !== "other") return undefined;
  return costFrom({
    totalUsd: line.line.totalCostUSD,
    apiDurationMs: line.line.totalAPIDuration,
    modelUsage: line.line.modelUsage,
    hasUnknownPrice: line.line.hasUnknownModelCost,
  });
}

/** Reads the cost so far from the payload of the status line (2.1.330). */
export function readCostOfStatusLine(payload: JsonObject): Spent | undefined {
  const { cost } = payload;
  if (!isJsonObject(cost)) return undefined;
  const { total_cost_usd: totalUsd, total_api_duration_ms: apiDurationMs } = cost;
  if (typeof totalUsd !== "number" || typeof apiDurationMs !== "number") return undefined;
  const { total_lines_added: added, total_lines_removed: removed } = cost;
  return typeof added === "number" && typeof removed === "number"
    ? { totalUsd, apiDurationMs, lines: { added, removed } }
    : { totalUsd, apiDurationMs };
}

/** Adds the costs of two children that count separately. */
export function addSpent(one: Spent, other: Spent): Spent {
  const lines = {
    added: (one.lines?.added ?? 0) + (other.lines?.added ?? 0),
    removed: (one.lines?.removed ?? 0) + (other.lines?.removed ?? 0),
  };
  return {
    totalUsd: one.totalUsd + other.totalUsd,
    apiDurationMs: one.apiDurationMs + other.apiDurationMs,
    ...(lines.added + lines.removed === 0 ? {} : { lines }),
  };
}

function costFrom(fields: { readonly [Field in keyof Cost]: unknown }): Cost | undefined {
  const { totalUsd, apiDurationMs, modelUsage, hasUnknownPrice } = fields;
  if (typeof totalUsd !== "number" || typeof apiDurationMs !== "number") return undefined;
  const models = isJsonObject(modelUsage) ? Object.entries(modelUsage) : [];
  return {
    totalUsd,
    apiDurationMs,
    modelUsage: Object.fromEntries(
      models.flatMap(([model, usage]) => isJsonObject(usage) ? [[model, usage]] : []),
    ),
    hasUnknownPrice: typeof hasUnknownPrice === "boolean" ? hasUnknownPrice : undefined,
  };
}

/**
 * Adds the token usage of several answers, as `claude -p` does for its `usage` field.
 *
 * Numbers are added, also in nested objects. For other fields (`service_tier`, `speed`, `iterations`, unknown ones) the
 * last value that is not null wins.
 */
export function sumUsage(usages: Iterable<JsonObject>): JsonObject {
  const sum: Sum = new Map();
  for (const usage of usages) add(sum, usage);
  return asObject(sum);
}

/** A partial sum: values by field; nested objects are partial sums too. */
type Sum = Map<string, unknown>;

function add(sum: Sum, usage: JsonObject): void {
  for (const [field, value] of Object.entries(usage)) {
    const before = sum.get(field);
    if (typeof before === "number" && typeof value === "number") sum.set(field, before + value);
    else if (isJsonObject(value)) {
      const inner: Sum = before instanceof Map ? before : new Map();
      add(inner, value);
      sum.set(field, inner);
    } else if (value !== null || before === undefined) sum.set(field, value);
  }
}

function asObject(sum: Sum): JsonObject {
  return Object.fromEntries(
    Array.from(sum, ([field, value]) => [field, value instanceof Map ? asObject(value) : value]),
  );
}
