import { escapeInvisible } from "../../recording/redaction/visible_text.ts";

/** What a check finds out about, in the order in which the checks are told. */
export type CheckName =
  | "platform"
  | "libc"
  | "pty"
  | "fifo"
  | "claude"
  | "login"
  | "api"
  | "leftovers"
  | "run";

/** What a check has found, as `--json` prints it. */
export interface Check {
  readonly name: CheckName;
  /** Whether all is well; so it is when the check was skipped. */
  readonly ok: boolean;
  readonly skipped?: true;
  /** What was found, in a few words; it never holds a secret. */
  readonly detail: string;
  /** What can be done about what is not well. */
  readonly suggestion?: string;
  /** The same for machines: names, versions, milliseconds, bytes. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** The check that an error ended: its message, and what it suggests if it does. */
export function failedCheck(name: CheckName, error: unknown): Check {
  const { suggestion } = error as { readonly suggestion?: unknown };
  return {
    name,
    ok: false,
    detail: error instanceof Error ? error.message : String(error),
    ...(typeof suggestion === "string" ? { suggestion } : {}),
    data: {},
  };
}

/** A check that was not made, and why. */
export function skippedCheck(name: CheckName, why: string): Check {
  return { name, ok: true, skipped: true, detail: why, data: {} };
}

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
  return escapeInvisible(text.replace(/[ \t\r\n]+/gu, " ").trim()).split(" ");
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

const BYTES = ["B", "kB", "MB", "GB", "TB"] as const;

/** A number of bytes in its largest unit of which there is one: "512 B", "61.4 kB", "83.1 GB". */
export function bytesInWords(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${BYTES[power]}`;
}

const TIMES = [
  { name: "day", ms: 86_400_000 },
  { name: "h", ms: 3_600_000 },
  { name: "min", ms: 60_000 },
  { name: "s", ms: 1000 },
] as const;

/** A duration in its largest unit that makes at least two of it, rounded down: "3 h", "90 min", "364 days". */
export function durationInWords(durationMs: number): string {
  const unit = TIMES.find(({ ms }) => durationMs >= 2 * ms) ?? TIMES[3];
  const count = Math.floor(durationMs / unit.ms);
  return `${count} ${unit.name}${unit.name === "day" ? "s" : ""}`;
}
