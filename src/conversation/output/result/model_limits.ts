/** Limits of a model in tokens; absent if not known. */
export interface ModelLimits {
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
