import { createValueRedactor, type Redact, redactPieces } from "./redact_pieces.ts";
import type { TextScrub } from "./traces/text_scrub.ts";

/** Takes secrets out of whatever holds texts. */
export function secretScrub(redact: Redact): TextScrub {
  return {
    text: redact,
    value: createValueRedactor(redact),
    pieces: (pieces) => redactPieces(pieces, redact),
  };
}
