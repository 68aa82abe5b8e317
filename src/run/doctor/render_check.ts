import { nameUnseen } from "../../recording/redaction/name_unseen.ts";
import type { Check } from "./check.ts";

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

/** How checks are shown. */
interface ReportStyle {
  /** Whether what shows them knows more than ASCII. */
  readonly unicode: boolean;
  readonly colour: boolean;
  /** Longest line. */
  readonly columns: number;
}

/**
 * The style that suits where the checks are shown.
 *
 * The locale says whether there is UTF-8: the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is not empty
 * (locale(7)). Colour is for terminals, unless `NO_COLOR` is set and not empty.
 *
 * @param options.columns width of the terminal; absent when it is none
 */
export function reportStyle(options: {
  readonly env: Readonly<Record<string, string>>;
  readonly columns: number | undefined;
}): ReportStyle {
  const { env, columns } = options;
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  return {
    unicode: /utf-?8/iu.test(locale),
    colour: columns !== undefined && !env["NO_COLOR"] && env["TERM"] !== "dumb",
    columns: columns ?? Infinity,
  };
}
