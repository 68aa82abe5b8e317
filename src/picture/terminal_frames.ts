import { HeadlessTerminal } from "../session/terminal/headless_terminal.ts";
import type { Cast, CastEvent } from "../cassette/cast.ts";
import type { PictureRow } from "./picture_row.ts";
import { terminalRows } from "./terminal_rows.ts";

/** What a terminal shows from a moment on. */
export interface TerminalFrame {
  /** Milliseconds since the child was started. */
  readonly at: number;
  /** From the top, without blank rows at the end. */
  readonly rows: readonly PictureRow[];
}

/** All that a cast shows. */
export interface TerminalFilm {
  /** The terminal's largest size, in character cells. */
  readonly cols: number;
  readonly rows: number;
  readonly frames: readonly TerminalFrame[];
}

/** What happens to a terminal within one frame. */
interface Scene {
  readonly at: number;
  /** Output, or a new size, in order. */
  readonly events: readonly (string | Size)[];
}

type Size = { readonly cols: number; readonly rows: number };

/** Most cells that are looked at, in all frames: of a terminal of the default size, more than a film has frames. */
const MOST_CELLS = 2_000_000;
/** Work that one frame is given, in units of some 10 ns: more than honest output of that time takes. */
const FRAME_WORK = 3_000_000;
const encoder = new TextEncoder();

/** Output that comes within this time is one frame. */
const FRAME_MS = 100;

/**
 * Draws a cast: a frame for all output of a tenth of a second, or of as much longer as it takes to need no more than
 * `most` of them, or fewer where the terminal is very large. A frame that looks like the one before is left out, and
 * so is what the child writes once it has been told to go.
 */
export async function terminalFrames(
  cast: Cast,
  options: { readonly most: number },
): Promise<TerminalFilm> {
  const size = { cols: cast.header.width, rows: cast.header.height };
  using terminal = await HeadlessTerminal.open(size);
  const shown = shownEvents(cast);
  const largest = largestSize(size, shown);
  const affordable = Math.max(1, Math.floor(MOST_CELLS / (largest.cols * largest.rows)));
  const frames: TerminalFrame[] = [{ at: 0, rows: [] }];
  let seen = "[]";
  for (const { at, events } of scenesOf(shown, Math.min(options.most, affordable))) {
    const output = events.map((event) => typeof event === "string" ? encoder.encode(event) : event);
    await terminal.draw(output, { work: FRAME_WORK });
    const rows = terminalRows(terminal);
    const now = JSON.stringify(rows);
    if (now !== seen) frames.push({ at, rows });
    seen = now;
  }
  return { ...largest, frames };
}

/** Output and new sizes until the child is told to go. */
function shownEvents({ events }: Cast): readonly CastEvent[] {
  const end = events.findIndex(({ code, data }) =>
    code === "d" && JSON.parse(data).type === "kill"
  );
  return (end < 0 ? events : events.slice(0, end))
    .filter(({ code }) => code === "o" || code === "r");
}

/** The most rows and the most columns that a terminal ever has. */
function largestSize(first: Size, shown: readonly CastEvent[]): Size {
  let { cols, rows } = first;
  for (const { code, data } of shown) {
    if (code !== "r") continue;
    const size = sizeIn(data);
    cols = Math.max(cols, size.cols);
    rows = Math.max(rows, size.rows);
  }
  return { cols, rows };
}

function scenesOf(shown: readonly CastEvent[], most: number): readonly Scene[] {
  for (let frameMs = FRAME_MS;; frameMs *= 2) {
    const scenes = scenesWithin(shown, frameMs);
    if (scenes.length <= most) return scenes;
  }
}

function sizeIn(data: string): Size {
  const [cols = 0, rows = 0] = data.split("x").map(Number);
  return { cols, rows };
}

function scenesWithin(shown: readonly CastEvent[], frameMs: number): readonly Scene[] {
  const scenes: { at: number; events: (string | Size)[] }[] = [];
  for (const { at, code, data } of shown) {
    let scene = scenes.at(-1);
    if (scene === undefined || at >= scene.at + frameMs) {
      scene = { at, events: [] };
      scenes.push(scene);
    }
    const { events } = scene;
    const last = events.at(-1);
    if (code === "r") {
      events.push(sizeIn(data));
    } else if (typeof last === "string") {
      events[events.length - 1] = last + data;
    } else {
      events.push(data);
    }
  }
  return scenes;
}
