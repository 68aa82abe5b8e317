import {
  createStreamRedactor,
  MOST_HELD,
  type StreamPiece,
} from "../../redaction/redact_stream.ts";
import { blankCallJson } from "../../redaction/traces/blanked/blank_call_input.ts";
import { blankText } from "../../redaction/traces/blanked/blank_text.ts";
import { cutAlike } from "../../redaction/traces/cut_alike.ts";

/** What stays of JSON that cannot be understood, and what does not. */
const ESCAPE_OR_LETTERS = /\\u[\da-f]{0,4}|\\[^]?|[\p{L}\p{N}]+/giu;

/**
 * Creates what blanks what a subagent is told where a tool is given it as JSON in pieces. All of them wait for the last
 * one; of what is longer than can wait no letter is left.
 *
 * @param options.redact what is taken out of the pieces besides
 * @returns takes the next piece
 */
export function createCallBlanker({ tool, redact }: {
  readonly tool: string;
  readonly redact: Parameters<typeof createStreamRedactor>[0]["redact"];
}): (text: string) => StreamPiece {
  let length = 0;
  const take = createStreamRedactor({
    redact: (given, options) => {
      const pieces = redact(given, options);
      return length > MOST_HELD
        ? pieces.map(withoutLetters)
        : cutAlike(blankCallJson(tool, pieces.join("")), pieces);
    },
    openFrom: () => 0,
  });
  return (text) => {
    length += text.length;
    return take(text);
  };
}

function withoutLetters(json: string): string {
  return json.replace(
    ESCAPE_OR_LETTERS,
    (found) => found.startsWith("\\") ? found : blankText(found),
  );
}
