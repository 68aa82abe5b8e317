import type { Cost } from "../../../claude/transcript/cost.ts";
import type { ClaudeLimits } from "../../../claude/wire/claude_limits.ts";
import { pickWireKeys } from "../../../claude/wire/json_text.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";

/** The facts from which `modelUsage` is made. */
export interface UsageFacts {
  readonly version: string;
  readonly cost?: Cost | undefined;
  /** The model of the last answer, as the API names it. */
  readonly answering: string | undefined;
  /** `max_tokens` of the requests by model, if the transcript holds requests. */
  readonly maxOutputTokens?: ReadonlyMap<string, number> | undefined;
  /** Who serves the models: `firstParty`, `bedrock`, `vertex`, … */
  readonly provider?: string;
  readonly limits?: ClaudeLimits | undefined;
}

/** Returns `modelUsage` as `claude -p` of the version prints it: the usage of each model. */
export function modelUsageOf(facts: UsageFacts): Readonly<Record<string, unknown>> {
  const { cost, version, answering } = facts;
  const knownWindow = facts.limits?.context_window?.["context_window_size"];
  const models = Object.entries(cost?.modelUsage ?? {});
  // If the price of one of several models is unknown, the child does not report which one.
  const known = cost?.hasUnknownPrice === false ? "list" : undefined;
  const costBasis = cost?.hasUnknownPrice === true && models.length === 1 ? "unknown" : known;
  return Object.fromEntries(models.map(([model, usage]) => {
    const plain = model.replace(/\[1m\]$/, "");
    const limits = modelLimits(model);
    const fields = {
      ...usage,
      // The child's status line reports only the context window of the answering model.
      contextWindow: plain === answering && typeof knownWindow === "number"
        ? knownWindow
        : limits.contextWindow,
      maxOutputTokens: facts.maxOutputTokens?.get(plain) ?? limits.maxOutputTokens,
      canonicalModel: plain.replace(/-\d{8}$/, ""),
      provider: facts.provider ?? "firstParty",
      costBasis,
    };
    return [model, pickWireKeys("modelUsage", fields, { version, extra: true })];
  }));
}

/** Limits of a model, in tokens. */
interface ModelLimits {
  readonly contextWindow?: number;
  readonly maxOutputTokens?: number;
}

const LARGE_WINDOW = 1_000_000;
const SMALL_WINDOW = 200_000;

/** Models whose default context window is small. Other models have the large one. */
const SMALL_WINDOW_MODELS = /^claude-(opus-4-[56]|sonnet-4-[056]|haiku-4-5)(-\d{8})?$/;

/** The models whose limits were measured. */
const MEASURED_MODELS =
  /^claude-(opus-4-[5-8]|sonnet-4-[056]|haiku-4-5|(opus|sonnet|haiku)-5-5|(opus|sonnet)-5|(fable|mythos)-5(-[12])?)(-\d{8})?$/;

/**
 * Returns the limits that `claude -p` prints for a model in `modelUsage`; none for a model that was not measured.
 *
 * The interactive Claude Code reports only the context window of the current model, and only to a status line. Measured
 * with Claude Code 2.1.330 on a subscription. If a request is known, prefer its `max_tokens`, unless
 * `CLAUDE_CODE_MAX_OUTPUT_TOKENS` has set it: `claude -p` prints the model's limit, and not the variable.
 *
 * @param model the key of `modelUsage`
 */
export function modelLimits(model: string): ModelLimits {
  const plain = model.replace(/\[1m\]$/, "");
  if (!MEASURED_MODELS.test(plain)) return {};
  const large = plain !== model || !SMALL_WINDOW_MODELS.test(plain);
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

/** Adds up the usage of models in two parts of a conversation. */
export function mergedUsage(one: ModelUsage, other: ModelUsage): ModelUsage {
  const models = new Set([...Object.keys(one), ...Object.keys(other)]);
  return Object.fromEntries(
    [...models].map((model) => [model, combined(other[model], one[model], 1)]),
  );
}

/** Subtracts the printed usage of models from their usage so far. Models without further usage are left out. */
export function usageSince(printed: ModelUsage, now: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(now).flatMap(([model, usage]) => {
      const since = combined(usage, printed[model], -1);
      const used = Object.keys(printed[model] ?? since);
      return used.some((field) => since[field] !== 0) ? [[model, since]] : [];
    }),
  );
}

/** Rounds a sum of costs to 12 digits, which removes the noise of floating point. */
export function withoutNoise(sum: number): number {
  return Number(sum.toFixed(12));
}

/** Adds counts to others, or subtracts them. A field that is not a number in both keeps its first value. */
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
