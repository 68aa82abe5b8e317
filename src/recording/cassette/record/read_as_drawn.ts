import { lastAnswers } from "../../redaction/last_answers.ts";

/** Control sequences and other escapes, ECMA-48; strings, such as titles, are left to be read as they are. */
// deno-lint-ignore no-control-regex
export const ESCAPE = /\x1b(?:\[[0-?]*[ -/]*([@-~])|[ -/]*[0-OQ-WYZ`-~\\])/gu;

/** What belongs to the layout of a screen and not to a word on it. */
export const LAYOUT = /[\s│|]/u;

/** A part of the text as it is drawn. */
export interface DrawnPart {
  /** Where it begins in that text. */
  readonly at: number;
  /** Where it was written; -1 for a blank that was not. */
  readonly place: number;
}

/** A text as it is drawn, and where its parts were written. */
export interface DrawnText {
  readonly text: string;
  readonly parts: readonly DrawnPart[];
}

/** What was written to a terminal as a person would read it. */
export const readAsDrawn: (written: string) => DrawnText = lastAnswers(drawn);

function drawn(written: string): DrawnText {
  const parts: DrawnPart[] = [];
  const texts: string[] = [];
  let length = 0;
  const add = (text: string, place: number) => {
    if (text === "") return;
    parts.push({ at: length, place });
    texts.push(text);
    length += text.length;
  };
  let end = 0;
  for (const match of written.matchAll(ESCAPE)) {
    add(written.slice(end, match.index), end);
    add(drawnInPlaceOf(match[1] ?? ""), -1);
    end = match.index + match[0].length;
  }
  add(written.slice(end), end);
  return { text: texts.join(""), parts };
}

/** What a person sees where a sequence moves the cursor. */
function drawnInPlaceOf(final: string): string {
  if (final === "C" || final === "G") return " ";
  return final !== "" && "ABEFHdf".includes(final) ? "\n" : "";
}
