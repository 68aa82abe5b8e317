import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** How much of one of the account's limits is used, as Claude Code tells it. */
export interface UsedLimit {
  /** From 0 to 100, and above if more may be used. */
  readonly used_percentage: number;
  /** When it is reset, in seconds since the epoch; absent where Claude Code does not say. */
  readonly resets_at?: number;
}

/** What is left of limits after a turn: the field of a result that `claude -p` does not have. */
export interface ClaudeLimits {
  /** The account's limits by name, such as `five_hour` and `seven_day`; absent for an API key. */
  readonly rate_limits?: Readonly<Record<string, UsedLimit>>;
  /** The conversation's place in the model's context, as Claude Code hands it to its status line. */
  readonly context_window?: Readonly<Record<string, unknown>>;
  /** US dollars that the turn has cost; absent where it is not known. */
  readonly turn_cost_usd?: number;
  /** Set when the turn failed because a limit of the account is used up. */
  readonly reached?: {
    /** When it is reset, in seconds since the epoch; absent where Claude Code does not say. */
    readonly resets_at?: number;
  };
}

/** What of it a child's status line tells. */
export type KnownLimits = Pick<ClaudeLimits, "rate_limits" | "context_window">;

/** What a child's status line tells of limits, as far as it is what it should be; undefined where it tells nothing. */
export function limitsOfStatusLine(payload: JsonObject): KnownLimits | undefined {
  const { rate_limits: limits, context_window: context } = payload;
  const used = isJsonObject(limits)
    ? Object.entries(limits).flatMap(([name, limit]) => {
      const one = usedLimit(limit);
      return one === undefined ? [] : [[name, one] as const];
    })
    : [];
  if (used.length === 0 && !isJsonObject(context)) return undefined;
  return {
    ...(used.length === 0 ? {} : { rate_limits: Object.fromEntries(used) }),
    // Before the first answer, it says that the conversation takes up nothing.
    ...(isJsonObject(context) && context.current_usage !== null ? { context_window: context } : {}),
  };
}

function usedLimit(limit: unknown): UsedLimit | undefined {
  if (!isJsonObject(limit) || typeof limit.used_percentage !== "number") return undefined;
  const { used_percentage, resets_at } = limit;
  return { used_percentage, ...(typeof resets_at === "number" ? { resets_at } : {}) };
}
