import { blankText } from "../../redaction/traces/blanked/blank_text.ts";

/** Where in a sequence of a terminal a text ends. */
type State = "text" | "escape" | "control" | "title" | "string" | "string-escape" | "title-escape";

/**
 * Creates what blanks all that is written to a terminal, titles too: letters and digits are an x, sequences stay as they
 * are, wherever they are cut.
 *
 * @returns takes the next piece
 */
export function createTerminalBlanker(): (text: string) => string {
  let state: State = "text";
  /** What a string of the system's kind has begun with, as far as it tells whether it is a title. */
  let kind = "";
  return (text) => {
    let out = "";
    let run = "";
    const flush = () => {
      out += blankText(run);
      run = "";
    };
    for (const character of text) {
      const isShown = state === "text" || state === "title";
      const next = after(character);
      if (isShown && next === state) run += character;
      else {
        flush();
        out += character;
      }
      state = next;
    }
    flush();
    return out;
  };

  function after(character: string): State {
    switch (state) {
      case "text":
        return character === "\x1b" ? "escape" : "text";
      case "escape":
        if (character === "[") return "control";
        if ("]PX^_".includes(character)) {
          kind = character;
          return "string";
        }
        // Blanks and their like stand between an escape and its end.
        return character >= " " && character <= "/" ? "escape" : "text";
      case "control":
        return character >= "@" && character <= "~" ? "text" : "control";
      case "string":
        if (character === "\x07") return "text";
        if (character === "\x1b") return "string-escape";
        if (kind.length < 4) kind += character;
        return /^\][012];$/u.test(kind) ? "title" : "string";
      case "title":
        if (character === "\x07") return "text";
        return character === "\x1b" ? "title-escape" : "title";
      case "string-escape":
      case "title-escape":
        return character === "\x1b" ? state : "text";
    }
  }
}
