import { readProcFile } from "../../../ffi/processes/proc.ts";
import { followProgress, type Progress, PROGRESS_START } from "./progress.ts";
import type { Input } from "../../conversation/control/input.ts";
import { renderLiveLine } from "./render_live_line.ts";

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
  #progress: Progress = PROGRESS_START;

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
    this.#progress = followProgress(this.#progress, sign);
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
