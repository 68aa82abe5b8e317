import { definedFields } from "../../defined_fields.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";

/** All checks, in the order in which they are reported. */
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

/** The result of a check, as `--json` prints it. */
export interface Check {
  readonly name: CheckName;
  /** Whether there is no problem. True for a skipped check. */
  readonly ok: boolean;
  readonly skipped?: true;
  /** The finding in a few words, without secrets. */
  readonly detail: string;
  /** The remedy for a problem. */
  readonly suggestion?: string;
  /** The finding for programs: names, versions, milliseconds, bytes. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** The result of a check that threw an error. */
export function failedCheck(name: CheckName, error: unknown): Check {
  const { suggestion } = error as { readonly suggestion?: unknown };
  return {
    name,
    ok: false,
    detail: error instanceof Error ? error.message : String(error),
    ...definedFields({ suggestion: typeof suggestion === "string" ? suggestion : undefined }),
    data: {},
  };
}

/** The result of a check that was not made. */
export function skippedCheck(name: CheckName, why: string): Check {
  return { name, ok: true, skipped: true, detail: why, data: {} };
}

/** The width of the longest name of a check. */
const NAME_WIDTH = "leftovers".length;

const MARKS = {
  ok: { unicode: "✓", ascii: "ok  ", colour: "32" },
  failed: { unicode: "✗", ascii: "FAIL", colour: "31" },
  skipped: { unicode: "-", ascii: "skip", colour: "2" },
} as const;

/** A check as lines of text: a mark, the name and the finding, then the suggestion. */
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

/** The words of a text. A text from a file or another program may contain escape sequences, which become visible. */
function wordsOf(text: string): readonly string[] {
  return escapeInvisible(text.replace(/[ \t\r\n]+/gu, " ").trim()).split(" ");
}

/** Wraps words into lines of at most `width` characters. A longer word has a line of its own. */
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
  /** Whether the marks may be characters other than ASCII. */
  readonly unicode: boolean;
  readonly colour: boolean;
  /** The maximum length of a line. */
  readonly columns: number;
}

/**
 * Chooses a style for stdout. The locale decides about Unicode: the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is not
 * empty, locale(7). Only terminals get colour, unless `NO_COLOR` is set and not empty.
 *
 * @param options.columns width of the terminal; undefined if stdout is no terminal
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

/** A number of bytes in the largest unit that fits: "512 B", "61.4 kB", "83.1 GB". */
export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(BYTES.length - 1, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${BYTES[power]}`;
}

const TIMES = [
  { name: "day", ms: 86_400_000 },
  { name: "h", ms: 3_600_000 },
  { name: "min", ms: 60_000 },
  { name: "s", ms: 1000 },
] as const;

/** A duration, rounded down, in the largest unit that gives at least two: "3 h", "90 min", "364 days". */
export function formatDuration(durationMs: number): string {
  const unit = TIMES.find(({ ms }) => durationMs >= 2 * ms) ?? TIMES[3];
  const count = Math.floor(durationMs / unit.ms);
  return `${count} ${unit.name}${unit.name === "day" ? "s" : ""}`;
}
