import { nameUnseen } from "../redaction/name_unseen.ts";
import type { Check } from "./check.ts";
import type { ReportStyle } from "./report_style.ts";

/** Width of the longest name of a check. */
const NAME_WIDTH = "leftovers".length;

const MARKS = {
  ok: { unicode: "✓", ascii: "ok  ", colour: "32" },
  failed: { unicode: "✗", ascii: "FAIL", colour: "31" },
  skipped: { unicode: "-", ascii: "skip", colour: "2" },
} as const;

/** A check for people: a line with a mark, and below it what to do if there is something to do. */
export function renderCheck(check: Check, style: ReportStyle): string {
  const mark = MARKS[check.skipped ? "skipped" : check.ok ? "ok" : "failed"];
  const sign = style.unicode ? mark.unicode : mark.ascii;
  const head = `${sign} ${check.name.padEnd(NAME_WIDTH)}  `;
  const lines = [check.detail, ...(check.suggestion === undefined ? [] : [check.suggestion])]
    .flatMap((text) => wrap(wordsOf(text), style.columns - head.length));
  const text = lines
    .map((line, index) => `${index === 0 ? head : " ".repeat(head.length)}${line}\n`).join("");
  return style.colour ? text.replace(sign, `\x1b[${mark.colour}m${sign}\x1b[m`) : text;
}

/**
 * The words of a text on one line. What comes from files and other programs must not reach a terminal as anything but
 * visible text.
 */
function wordsOf(text: string): readonly string[] {
  return nameUnseen(text.replace(/[ \t\r\n]+/gu, " ").trim()).split(" ");
}

/** Words in lines of at most `width` characters, longer words aside. */
function wrap(words: readonly string[], width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of words) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}
