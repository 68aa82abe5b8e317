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
    .flatMap((text) => wrap(visible(text), style.columns - head.length));
  const text = lines
    .map((line, index) => `${index === 0 ? head : " ".repeat(head.length)}${line}\n`).join("");
  return style.colour ? text.replace(sign, `\x1b[${mark.colour}m${sign}\x1b[m`) : text;
}

/** What comes from files and other programs must not reach a terminal as anything but visible text. */
function visible(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim();
}

/** Words in lines of at most `width` characters, longer words aside. */
function wrap(text: string, width: number): readonly string[] {
  return text.split(" ").reduce<readonly string[]>((lines, word) => {
    const line = lines.at(-1);
    return line !== undefined && line.length + 1 + word.length <= width
      ? [...lines.slice(0, -1), `${line} ${word}`]
      : [...lines, word];
  }, []);
}
