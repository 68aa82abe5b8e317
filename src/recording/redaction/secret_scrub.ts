import { createValueRedactor, type Redact, redactPieces } from "./redact_pieces.ts";
import type { TextScrub } from "./traces/text_scrub.ts";

/**
 * Takes secrets out of whatever holds texts.
 *
 * @param options.deep what becomes of a value that is nested more deeply than a recording keeps
 */
export function secretScrub(
  redact: Redact,
  options: { readonly deep?: (value: object) => unknown } = {},
): TextScrub {
  return {
    text: redact,
    value: createValueRedactor(redact, options),
    pieces: (pieces) => redactPieces(pieces, redact),
  };
}
