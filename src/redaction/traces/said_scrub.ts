import { blankText } from "./blank_text.ts";
import { createSaidBlanker, type SaidParts } from "./blank_said.ts";
import type { TextScrub } from "./text_scrub.ts";

/** Blanks prompts or answers where a JSON value says that it holds some; what a text alone is, nobody knows. */
export function saidScrub(parts: SaidParts): TextScrub {
  return {
    text: (text) => text,
    value: createSaidBlanker(parts),
    pieces: (pieces, { isAnswer } = { isAnswer: false }) =>
      isAnswer && parts.answers ? pieces.map(blankText) : pieces,
  };
}
