import { readProcFile } from "../../../ffi/processes/proc.ts";
import {
  INITIAL_PROGRESS,
  outputTokens,
  type Progress,
  type ShownCall,
  updateProgress,
} from "./progress.ts";
import type { Input } from "../../conversation/control/input.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";

/** The terminal on which a live line is drawn, such as an `Outlet`. Writing never blocks. */
export interface LiveLineOutput {
  /** The number of bytes that the terminal has not accepted yet. */
  readonly pending: number;
  readonly write: (text: string) => void;
  readonly flush: () => void;
}

export interface RedrawnLineOptions {
  readonly output: LiveLineOutput;
  /** Returns true if this program is in the foreground of the terminal. */
  readonly isOurs: () => boolean;
  /** Returns the current line, which is narrower than the terminal. */
  readonly render: () => string;
}

export interface LiveLineOptions extends Omit<RedrawnLineOptions, "render"> {
  /** Returns the time since the start of the run, in milliseconds. */
  readonly elapsedMs: () => number;
  /** Width of the terminal, in character cells. */
  readonly columns: () => number;
  readonly color: boolean;
  readonly cwd: string;
  /** The position of the run in a list, such as `line 2 of 5`. */
  readonly place?: string | undefined;
}

/** Milliseconds between two redraws. The line shows seconds. */
const REDRAW_MS = 250;
const ERASE = "\r\x1b[K";

/**
 * One line that is redrawn in place, and erased when it is disposed.
 *
 * The cursor stays in the first column, so that the next redraw erases a `^C` that the terminal echoes.
 */
export class RedrawnLine implements Disposable {
  readonly #options: RedrawnLineOptions;
  readonly #timer: ReturnType<typeof setInterval>;
  #shown = "";

  constructor(options: RedrawnLineOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.draw(), REDRAW_MS);
    // The timer must not keep the program alive.
    Deno.unrefTimer(this.#timer);
  }

  /** Draws the line if it has changed and the terminal has accepted the previous one. */
  draw(): void {
    const { output } = this.#options;
    output.flush();
    if (output.pending > 0) return;
    if (!this.#options.isOurs()) {
      // The shell is in the foreground, and its prompt must not be erased.
      this.#shown = "";
      return;
    }
    const line = this.#options.render();
    if (line === this.#shown) return;
    output.write(`\r${line}\x1b[K\r`);
    this.#shown = line;
  }

  /** Erases the line until the next redraw. */
  erase(): void {
    if (this.#shown !== "" && this.#options.isOurs()) this.#options.output.write(ERASE);
    this.#shown = "";
  }

  /** Erases the line permanently. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.erase();
  }
}

/** One line that shows the progress of a run. */
export class LiveLine extends RedrawnLine {
  #progress: Progress = INITIAL_PROGRESS;

  constructor({ elapsedMs, columns, color, cwd, place, ...options }: LiveLineOptions) {
    const style = { color, cwd, place };
    super({
      ...options,
      render: () =>
        renderLiveLine(this.#progress, { ...style, columns: columns(), elapsedMs: elapsedMs() }),
    });
  }

  /** Takes an input of the conversation. The next redraw shows it. */
  observe(sign: Input): void {
    this.#progress = updateProgress(this.#progress, sign);
  }
}

/**
 * Returns true if a process is in the foreground of its terminal, or has no controlling terminal. A shell that started it
 * with `&` shows its own prompt there. See `pgrp` and `tpgid` in proc_pid_stat(5).
 */
export function isInForeground(pid: number | "self" = "self"): boolean {
  try {
    const stat = new TextDecoder().decode(readProcFile(`/proc/${pid}/stat`));
    // The command's name in parentheses may contain parentheses; the other fields follow the last one.
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return foreground === "-1" || foreground === group;
  } catch {
    return true;
  }
}

interface LiveLineStyle {
  /** Width of the terminal, in character cells. */
  readonly columns: number;
  /** Whether the line may be dimmed. */
  readonly color: boolean;
  /** The time since the start of the run, in milliseconds. */
  readonly elapsedMs: number;
  /** The run's working directory. Files below it are named relative to it. */
  readonly cwd: string;
  readonly place?: string | undefined;
}

const SEPARATOR = " · ";
const ELLIPSIS = "…";
/** The minimum number of columns for the tool. With fewer columns, the tool is not shown. */
const MIN_TOOL_COLUMNS = 8;

/**
 * Renders the progress of a run in one line that is at least one column narrower than the terminal:
 * `working · Bash npm test · 12 s · 1.2k tokens`.
 *
 * A long line is shortened, the tool first. It contains no control characters except the two sequences that dim it.
 */
export function renderLiveLine(progress: Progress, style: LiveLineStyle): string {
  const room = Math.max(0, style.columns - 1);
  const ending = [durationText(style.elapsedMs), ...tokenParts(progress)];
  const beginning = [...(style.place === undefined ? [] : [style.place]), phaseText(progress)];
  const fixed = [...beginning, ...ending].join(SEPARATOR);
  const toolRoom = room - columnWidth(fixed) - SEPARATOR.length;
  const tool = toolRoom < MIN_TOOL_COLUMNS
    ? []
    : toolParts(progress, style).map((text) => fit(text, toolRoom));
  return renderLine([...beginning, ...tool, ...ending], style);
}

/** Renders the step of a command in one line: `downloading 2.1.330 · 12 s`. */
export function renderStep(step: string, style: Omit<LiveLineStyle, "cwd" | "place">): string {
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
  return [`${more}${nameAndSubject(first, cwd)}`];
}

function nameAndSubject({ name, subject }: ShownCall, cwd: string): string {
  if (subject === undefined) return name;
  return `${name} ${subject.startsWith(`${cwd}/`) ? subject.slice(cwd.length + 1) : subject}`;
}

/** Renders a tool call in one line: `Bash npm test`. */
export function callText(
  call: ShownCall,
  { cwd, columns }: { readonly cwd: string; readonly columns: number },
): string {
  return fit(nameAndSubject(call, cwd), columns);
}

export function durationText(elapsedMs: number): string {
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

/** Shortens a text to one line of up to this many columns. */
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
 * Replaces white space by blanks, removes control and format characters, and names other invisible characters, which make a
 * different file name.
 */
function oneLine(text: string): string {
  return escapeInvisible(text.replace(/\s+/gu, " ").replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, ""));
}

/** Combining marks take no column. */
const NARROWEST = /^[\p{Mn}\p{Me}]$/u;
/** Characters of two columns. Of an emoji with a variation selector, the selector counts as the second column. */
const WIDE = new RegExp(
  "^[\\p{Emoji_Presentation}\\u1100-\\u115f\\u2329\\u232a\\u2e80-\\u303e\\u3041-\\ua4cf" +
    "\\ua960-\\ua97f\\uac00-\\ud7a3\\uf900-\\ufaff\\ufe10-\\ufe19\\ufe30-\\ufe6f\\uff01-\\uff60" +
    "\\uffe0-\\uffe6\\u{16fe0}-\\u{18fff}\\u{1aff0}-\\u{1b2ff}\\u{1d300}-\\u{1d37f}" +
    "\\u{1f000}-\\u{1faff}\\u{20000}-\\u{3fffd}]$",
  "u",
);
const VARIATION_SELECTOR = "\ufe0f";

/**
 * Returns the maximum number of columns that a text can take. Some terminals draw an emoji of several parts narrower.
 */
function columnWidth(text: string): number {
  let columns = 0;
  for (const character of text) {
    if (NARROWEST.test(character) && character !== VARIATION_SELECTOR) continue;
    columns += WIDE.test(character) ? 2 : 1;
  }
  return columns;
}
