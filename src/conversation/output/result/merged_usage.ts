import type { Cost } from "../../../claude/transcript/cost.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";

type ModelUsage = Cost["modelUsage"];

/** What models have used in two parts of a conversation. */
export function mergedUsage(one: ModelUsage, other: ModelUsage): ModelUsage {
  const models = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...models].map((model) => [model, combined(other[model], one[model], 1)]),
  );
}

/** What models have used since so much of it was told; those that have used nothing are left out. */
export function usageSince(told: ModelUsage, now: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(now).flatMap(([model, usage]) => {
      const since = combined(usage, told[model], -1);
      const used = Object.keys(told[model] ?? since);
      return used.some((field) => since[field] !== 0) ? [[model, since]] : [];
    }),
  );
}

/** A sum of costs, which are no whole numbers, as one would write it down. */
export function withoutNoise(sum: number): number {
  return Number(sum.toFixed(12));
}

/** The counts of one thing with those of another added, or taken away; what is no count of both is the one's. */
function combined(one: unknown, other: unknown, sign: 1 | -1): JsonObject {
  if (!isJsonObject(one)) return isJsonObject(other) ? other : {};
  if (!isJsonObject(other)) return one;
  return Object.fromEntries(
    Object.entries(one).map(([field, count]) => {
      const more = other[field];
      return [
        field,
        typeof count === "number" && typeof more === "number"
          ? withoutNoise(count + sign * more)
          : count,
      ];
    }),
  );
}
