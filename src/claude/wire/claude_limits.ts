import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** The used part of one of the account's limits, as Claude Code reports it. */
export interface UsedLimit {
  /** From 0 to 100; above 100 if the account may exceed the limit. */
  readonly used_percentage: number;
  /** When the limit is reset, in seconds since the epoch. Absent if Claude Code does not report it. */
  readonly resets_at?: number;
}

/** Limits and costs after a turn: the field `claude_limits` of a result, which `claude -p` does not have. */
export interface ClaudeLimits {
  /** The account's limits by name, such as `five_hour` and `seven_day`; absent for an API key. */
  readonly rate_limits?: Readonly<Record<string, UsedLimit>>;
  /** The used part of the model's context window, as Claude Code passes it to the status line. */
  readonly context_window?: Readonly<Record<string, unknown>>;
  /** The cost of the turn in US dollars. Absent if it is not known. */
  readonly turn_cost_usd?: number;
  /** Present if the turn failed because a limit of the account was reached. */
  readonly reached?: {
    /** When the limit is reset, in seconds since the epoch. Absent if Claude Code does not report it. */
    readonly resets_at?: number;
  };
}

/** The limits that Claude Code passes to the status line. */
export type StatusLineLimits = Pick<ClaudeLimits, "rate_limits" | "context_window">;

/** Reads the limits in the input of a status line, without malformed values; undefined if there are none. */
export function parseStatusLineLimits(payload: JsonObject): StatusLineLimits | undefined {
  const { rate_limits: limits, context_window: context } = payload;
  const used = isJsonObject(limits)
    ? Object.entries(limits).flatMap(([name, limit]) => {
      const one = parseUsedLimit(limit);
      return one === undefined ? [] : [[name, one] as const];
    })
    : [];
  if (used.length === 0 && !isJsonObject(context)) return undefined;
  return {
    ...(used.length === 0 ? {} : { rate_limits: Object.fromEntries(used) }),
    // Before the first answer `current_usage` is null, and the window looks empty.
    ...(isJsonObject(context) && context.current_usage !== null ? { context_window: context } : {}),
  };
}

function parseUsedLimit(limit: unknown): UsedLimit | undefined {
  if (!isJsonObject(limit) || typeof limit.used_percentage !== "number") return undefined;
  const { used_percentage, resets_at } = limit;
  return { used_percentage, ...(typeof resets_at === "number" ? { resets_at } : {}) };
}
