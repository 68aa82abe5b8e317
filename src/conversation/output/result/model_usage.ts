import type { Cost } from "../../../claude/transcript/cost.ts";
import type { ClaudeLimits } from "../../../claude/wire/claude_limits.ts";
import { onlyWireKeys } from "../../../claude/wire/json_text.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";

/** What is known of models and of what they have used. */
export interface UsageFacts {
  readonly version: string;
  readonly cost?: Cost | undefined;
  /** The model that has answered last, as the API names it. */
  readonly answering: string | undefined;
  /** `max_tokens` of the requests by model, where the transcript tells. */
  readonly maxOutputTokens?: ReadonlyMap<string, number> | undefined;
  /** Who serves the models: `firstParty`, `bedrock`, `vertex`, … */
  readonly provider?: string;
  readonly limits?: ClaudeLimits | undefined;
}

/** What each model has used, as `claude -p` of the version tells it (`modelUsage`). */
export function modelUsageOf(facts: UsageFacts): Readonly<Record<string, unknown>> {
  const { cost, version, answering } = facts;
  const told = facts.limits?.context_window?.["context_window_size"];
  const models = Object.entries(cost?.modelUsage ?? {});
  // With a price missing and several models, the child does not say whose it is.
  const known = cost?.hasUnknownPrice === false ? "list" : undefined;
  const costBasis = cost?.hasUnknownPrice === true && models.length === 1 ? "unknown" : known;
  return Object.fromEntries(models.map(([model, usage]) => {
    const plain = model.replace(/\[1m\]$/, "");
    const limits = modelLimits(model);
    const fields = {
      ...usage,
      // The child tells the window of the model that answers, and only that.
      contextWindow: plain === answering && typeof told === "number" ? told : limits.contextWindow,
      maxOutputTokens: facts.maxOutputTokens?.get(plain) ?? limits.maxOutputTokens,
      canonicalModel: plain.replace(/-\d{8}$/, ""),
      provider: facts.provider ?? "firstParty",
      costBasis,
    };
    return [model, onlyWireKeys("modelUsage", fields, { version, extra: true })];
  }));
}

/** Limits of a model in tokens; absent if not known. */
interface ModelLimits {
  readonly contextWindow?: number;
  readonly maxOutputTokens?: number;
}

const LARGE_WINDOW = 1_000_000;
const SMALL_WINDOW = 200_000;

/** Models with the small window by default; others have the large one. */
const SMALL = /^claude-(opus-4-[56]|sonnet-4-[056]|haiku-4-5)(-\d{8})?$/;

/** The models measured; of others nothing is said. */
const MEASURED =
  /^claude-(opus-4-[5-8]|sonnet-4-[056]|haiku-4-5|(opus|sonnet|haiku)-5-5|(opus|sonnet)-5|(fable|mythos)-5(-[12])?)(-\d{8})?$/;

/**
 * Tells the limits that `claude -p` prints for a model in `modelUsage`, which the TUI keeps to itself, but for the
 * window of the model in use, if it has a status line, and the output where its transcript tells of requests.
 *
 * Measured with Claude Code 2.1.330 on a subscription. Where a request is known, its `max_tokens` is to be preferred, unless
 * `CLAUDE_CODE_MAX_OUTPUT_TOKENS` has set that: `claude -p` tells of the model and not of the variable.
 *
 * @param model the key of `modelUsage`
 */
export function modelLimits(model: string): ModelLimits {
  const plain = model.replace(/\[1m\]$/, "");
  if (!MEASURED.test(plain)) return {};
  const large = plain !== model || !SMALL.test(plain);
  return {
    contextWindow: large ? LARGE_WINDOW : SMALL_WINDOW,
    maxOutputTokens: outputLimit(plain),
  };
}

function outputLimit(model: string): number {
  if (/^claude-((opus|sonnet|haiku)-5-5|(fable|mythos)-5-2)$/.test(model)) return 128_000;
  if (/^claude-(opus-4-[678]|(opus|sonnet)-5|(fable|mythos)-5(-1)?)$/.test(model)) return 64_000;
  return 32_000;
}

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
