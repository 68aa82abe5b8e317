import { readProcFile } from "../../../ffi/processes/proc.ts";
import {
  INITIAL_PROGRESS,
  outputTokens,
  type Progress,
  type RunningTool,
  updateProgress,
} from "./progress.ts";
import type { Input } from "../../conversation/control/input.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";

/** Where a live line is drawn: a terminal that is never waited for, as an `Outlet` is. */
export interface LiveLineOutput {
  /** What the terminal has not taken yet. */
  readonly pending: number;
  readonly write: (text: string) => void;
  readonly flush: () => void;
}

/** What a line that is redrawn needs to know of the world. */
export interface RedrawnLineOptions {
  readonly output: LiveLineOutput;
  /** Whether the terminal is this program's to draw on. */
  readonly isOurs: () => boolean;
  /** The line as it is now, narrower than the terminal. */
  readonly render: () => string;
}

/** What a live line needs to know of the world. */
export interface LiveLineOptions extends Omit<RedrawnLineOptions, "render"> {
  /** How long the run has taken, in milliseconds. */
  readonly elapsedMs: () => number;
  /** Width of the terminal, in character cells. */
  readonly columns: () => number;
  readonly color: boolean;
  readonly cwd: string;
}

/** Often enough for a clock of seconds, and for a tool to be named soon. */
const REDRAW_MS = 250;
const ERASE = "\r\x1b[K";

/**
 * One line that is redrawn in place until it is disposed, and gone then.
 *
 * The cursor is left in the line's first column, so that a `^C` which the terminal echoes is erased with the line.
 */
export class RedrawnLine implements Disposable {
  readonly #options: RedrawnLineOptions;
  readonly #timer: ReturnType<typeof setInterval>;
  #shown = "";

  constructor(options: RedrawnLineOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.draw(), REDRAW_MS);
    // The end of the command is not put off for the line.
    Deno.unrefTimer(this.#timer);
  }

  /** Draws the line if it has changed. A terminal that still owes something of it gets nothing new. */
  draw(): void {
    const { output } = this.#options;
    output.flush();
    if (output.pending > 0) return;
    if (!this.#options.isOurs()) {
      // What a shell shows by now is not ours to erase.
      this.#shown = "";
      return;
    }
    const line = this.#options.render();
    if (line === this.#shown) return;
    output.write(`\r${line}\x1b[K\r`);
    this.#shown = line;
  }

  /** Erases the line for good. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    if (this.#shown !== "" && this.#options.isOurs()) this.#options.output.write(ERASE);
    this.#shown = "";
  }
}

/** One quiet line that says how far a run is. */
export class LiveLine extends RedrawnLine {
  #progress: Progress = INITIAL_PROGRESS;

  constructor({ elapsedMs, columns, color, cwd, ...options }: LiveLineOptions) {
    const style = { color, cwd };
    super({
      ...options,
      render: () =>
        renderLiveLine(this.#progress, { ...style, columns: columns(), elapsedMs: elapsedMs() }),
    });
  }

  /** Takes the next sign of the run; it is seen when the line is drawn again. */
  observe(sign: Input): void {
    this.#progress = updateProgress(this.#progress, sign);
  }
}

/**
 * Whether this program has its terminal to itself: a shell that started it with `&` shows its own prompt there.
 *
 * True without a controlling terminal, where there is no shell to be in the way of (proc_pid_stat(5): `pgrp` and
 * `tpgid`).
 */
export function isInForeground(pid: number | "self" = "self"): boolean {
  try {
    const stat = new TextDecoder().decode(readProcFile(`/proc/${pid}/stat`));
    // The command's name in parentheses may hold anything; the rest follows its last parenthesis.
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return foreground === "-1" || foreground === group;
  } catch {
    return true;
  }
}

/** How a live line is to look. */
interface LiveLineStyle {
  /** Width of the terminal, in character cells. */
  readonly columns: number;
  /** Whether it may be dimmed. */
  readonly color: boolean;
  /** How long the run has taken, in milliseconds. */
  readonly elapsedMs: number;
  /** The run's working directory: files below it are named from there. */
  readonly cwd: string;
}

const SEPARATOR = " · ";
const ELLIPSIS = "…";
/** With less room than this a tool is not worth telling. */
const MIN_TOOL_COLUMNS = 8;

/**
 * One line that says how far a run is, at most a column less than the terminal is wide:
 * `working · Bash npm test · 12 s · 1.2k tokens`.
 *
 * What is too long is shortened, the tool first. Nothing in it is a control character, whatever the tool's input
 * holds, but the two sequences that dim it.
 */
export function renderLiveLine(progress: Progress, style: LiveLineStyle): string {
  const room = Math.max(0, style.columns - 1);
  const ending = [durationText(style.elapsedMs), ...tokenParts(progress)];
  const fixed = [phaseText(progress), ...ending].join(SEPARATOR);
  const toolRoom = room - columnWidth(fixed) - SEPARATOR.length;
  const tool = toolRoom < MIN_TOOL_COLUMNS
    ? []
    : toolParts(progress, style).map((text) => fit(text, toolRoom));
  return renderLine([phaseText(progress), ...tool, ...ending], style);
}

/** One line that says what a command does and for how long: `downloading 2.1.330 · 12 s`. */
export function renderStep(step: string, style: Omit<LiveLineStyle, "cwd">): string {
  return renderLine([step, durationText(style.elapsedMs)], style);
}

function renderLine(
  parts: readonly string[],
  { columns, color }: Pick<LiveLineStyle, "columns" | "color">,
): string {
  const line = fit(parts.join(SEPARATOR), Math.max(0, columns - 1));
  return color && line !== "" ? `\x1b[2m${line}\x1b[22m` : line;
}

function phaseText({ phase, count }: Progress): string {
  switch (phase) {
    case "waiting":
      return count === 1
        ? "waiting for a background task"
        : `waiting for ${count} background tasks`;
    case "retrying":
      return `retrying (attempt ${count})`;
    case "starting":
    case "working":
    case "ending":
      return phase;
    default:
      return phase satisfies never;
  }
}

function toolParts({ tools }: Progress, { cwd }: LiveLineStyle): readonly string[] {
  const [first, ...others] = tools;
  if (first === undefined) return [];
  const more = others.length === 0 ? "" : `(+${others.length}) `;
  return [`${more}${first.name}${subjectText(first, cwd)}`];
}

function subjectText({ subject }: RunningTool, cwd: string): string {
  if (subject === undefined) return "";
  return ` ${subject.startsWith(`${cwd}/`) ? subject.slice(cwd.length + 1) : subject}`;
}

function durationText(elapsedMs: number): string {
  const seconds = Math.floor(elapsedMs / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${twoDigits(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${twoDigits(minutes % 60)} min`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

function tokenParts(progress: Progress): readonly string[] {
  const count = outputTokens(progress);
  if (count === 0) return [];
  if (count === 1) return ["1 token"];
  if (count < 1000) return [`${count} tokens`];
  return [`${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k tokens`];
}

/** A text in one line of at most so many columns. */
function fit(text: string, columns: number): string {
  const visible = oneLine(text);
  if (columnWidth(visible) <= columns) return visible;
  let kept = "";
  let used = 1;
  for (const character of visible) {
    used += columnWidth(character);
    if (used > columns) break;
    kept += character;
  }
  return columns < 1 ? "" : `${kept.trimEnd()}${ELLIPSIS}`;
}

/**
 * White space becomes a blank, what only steers a terminal or a text nothing; fillers and other characters that nobody
 * sees, though they make another name, are named.
 */
function oneLine(text: string): string {
  return escapeInvisible(text.replace(/\s+/gu, " ").replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, ""));
}

/** Marks that stand over the character before them. */
const NARROWEST = /^[\p{Mn}\p{Me}]$/u;
/** What takes two columns; emoji that only a variation selector widens count it as one. */
const WIDE = new RegExp(
  "^[\\p{Emoji_Presentation}\\u1100-\\u115f\\u2329\\u232a\\u2e80-\\u303e\\u3041-\\ua4cf" +
    "\\ua960-\\ua97f\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe10-\\ufe19\\ufe30-\\ufe6f\\uff01-\\uff60" +
    "\\uffe0-\\uffe6\\u{16fe0}-\\u{18fff}\\u{1aff0}-\\u{1b2ff}\\u{1d300}-\\u{1d37f}" +
    "\\u{1f000}-\\u{1faff}\\u{20000}-\\u{3fffd}]$",
  "u",
);
const VARIATION_SELECTOR = "\ufe0f";

/** How many columns a text takes at most: a terminal may make an emoji of several parts narrower. */
function columnWidth(text: string): number {
  let columns = 0;
  for (const character of text) {
    if (NARROWEST.test(character) && character !== VARIATION_SELECTOR) continue;
    columns += WIDE.test(character) ? 2 : 1;
  }
  return columns;
}
