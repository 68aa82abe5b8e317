import type { Cost } from "../../../claude/transcript/turn/cost.ts";
import type { ClaudeLimits } from "../../../claude/wire/claude_limits.ts";
import { onlyWireKeys } from "../../../claude/wire/wire_keys.ts";
import { modelLimits } from "./model_limits.ts";

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
