import { subagentStats } from "./result/subagent_stats.ts";
import type { FramesState } from "./telling/frames_state.ts";
import { type Cost, summedUsage } from "../transcript/cost.ts";
import { isJsonObject, type JsonObject } from "../transcript/json_object.ts";
import type { Turn } from "../transcript/turn.ts";

/**
 * What a child has cost that still lives, if its status line has told. It tells no more than the sum; of which model that
 * is, is known where there was only one, and nothing before.
 */
export function costSoFar(
  { cost, model, earlier }: Pick<FramesState, "model" | "earlier"> & {
    readonly cost?: FramesState["cost"] | undefined;
  },
  turns: readonly Turn[],
): Cost | undefined {
  if (cost === undefined) return undefined;
  const models = new Set(turns.map(({ model }) => model).filter((name) => name !== undefined));
  const [only] = models;
  // What a request that was stopped has cost is told with the next one.
  const isCut = turns.some(({ end }) => end !== undefined && end !== "completed");
  const isWhole = models.size === 1 && !isCut && earlier.length === 0 &&
    subagentStats(turns).spawned === 0;
  const name = only !== undefined && model?.replace(/\[1m\]$/u, "") === only ? model : only;
  return {
    ...cost,
    modelUsage: isWhole && name !== undefined
      ? { [name]: modelUsage(summedUsage(turns.map(({ usage }) => usage)), cost.totalUsd) }
      : {},
    hasUnknownPrice: isWhole ? false : undefined,
  };
}

/** What a conversation has cost whose child has ended and told its own cost; it may count what was paid before it. */
export function costAtEnd(
  { options: { before } }: Pick<FramesState, "options">,
  cost: Cost | undefined,
): Cost | undefined {
  if (cost === undefined || before === undefined || cost.totalUsd >= before.totalUsd) return cost;
  return {
    ...cost,
    totalUsd: cost.totalUsd + before.totalUsd,
    apiDurationMs: cost.apiDurationMs + before.apiDurationMs,
  };
}

/** The usage of the API's answers in the names that Claude Code has for it. */
function modelUsage(usage: JsonObject, costUSD: number): JsonObject {
  const nested = (name: string): JsonObject => {
    const value = usage[name];
    return isJsonObject(value) ? value : {};
  };
  const written = nested("cache_creation");
  return {
    inputTokens: usage.input_tokens ?? 0,
    outputTokens: usage.output_tokens ?? 0,
    thinkingTokens: nested("output_tokens_details").thinking_tokens ?? 0,
    cacheReadInputTokens: usage.cache_read_input_tokens ?? 0,
    cacheCreationInputTokens: usage.cache_creation_input_tokens ?? 0,
    cacheCreationEphemeral5mInputTokens: written.ephemeral_5m_input_tokens ?? 0,
    cacheCreationEphemeral1hInputTokens: written.ephemeral_1h_input_tokens ?? 0,
    webSearchRequests: nested("server_tool_use").web_search_requests ?? 0,
    costUSD,
  };
}
