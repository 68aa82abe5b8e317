import { blankText } from "./blanked/blank_text.ts";
import { blankCallJson, speaksToSubagent } from "./blanked/blank_call_input.ts";
import { createSaidBlanker, type SaidOptions } from "./blanked/blank_said.ts";
import { cutAlike } from "./cut_alike.ts";
import type { SaidParts } from "./blanked/said_parts.ts";
import type { TextScrub } from "./text_scrub.ts";

/** Blanks prompts or answers where a JSON value says that it holds some; what a text alone is, nobody knows. */
export function saidScrub(parts: SaidParts, options: SaidOptions = {}): TextScrub {
  return {
    text: (text) => text,
    value: createSaidBlanker(parts, options),
    pieces: (pieces, { isAnswer, tool } = { isAnswer: false }) => {
      if (isAnswer) return parts.answers ? pieces.map(blankText) : pieces;
      return tool !== undefined && parts.prompts && speaksToSubagent(tool)
        ? cutAlike(blankCallJson(tool, pieces.join("")), pieces)
        : pieces;
    },
  };
}
