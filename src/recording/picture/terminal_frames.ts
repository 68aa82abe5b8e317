import { HeadlessTerminal } from "../../conversation/terminal/headless_terminal.ts";
import type { PlayedCast } from "../cassette/cast.ts";
import { measureFilm } from "./measure_film.ts";
import type { PictureRow } from "./picture_row.ts";
import { type ShownEvent, shownEvents, type TerminalSize } from "./shown_events.ts";
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
  /** When the last event of the cast was, in milliseconds. */
  readonly last: number;
}

/** Most cells that are looked at, in all frames: of a terminal of the default size, more than a film has frames. */
const MOST_CELLS = 2_000_000;
/** Work that one frame is given, in units of some 10 ns: more than honest output of that time takes. */
const FRAME_WORK = 3_000_000;
/** Text that is drawn at once, in UTF-16 units. */
const BATCH = 64 * 1024;

/**
 * Draws a cast: a frame for all output of a tenth of a second, or of as much longer as it takes to need no more than
 * `most` of them, or fewer where the terminal is very large. A frame that looks like the one before is left out, and
 * so is what the child writes once it has been told to go.
 *
 * The cast is gone through twice, and takes no more memory than its longest event, however long it is.
 */
export async function terminalFrames(
  cast: PlayedCast,
  options: { readonly most: number },
): Promise<TerminalFilm> {
  const size = { cols: cast.header.width, rows: cast.header.height };
  using terminal = await HeadlessTerminal.open(size);
  const measured = measureFilm(cast, options);
  const { largest, last } = measured;
  const affordable = Math.max(1, Math.floor(MOST_CELLS / (largest.cols * largest.rows)));
  const frameMs = measured.frameMs(Math.min(options.most, affordable));
  const frames: TerminalFrame[] = [{ at: 0, rows: [] }];
  let seen = "[]";
  for (const { at, output } of scenesOf(shownEvents(cast), frameMs)) {
    await terminal.draw(output, { work: FRAME_WORK });
    const rows = terminalRows(terminal);
    const now = JSON.stringify(rows);
    if (now !== seen) frames.push({ at, rows });
    seen = now;
  }
  return { ...largest, frames, last };
}

/** What happens to a terminal within one frame; of the next scene nothing is known before that was gone through. */
interface Scene {
  readonly at: number;
  /** Output, or a new size, in order. */
  readonly output: Iterable<Uint8Array | TerminalSize>;
}

function* scenesOf(shown: Iterable<ShownEvent>, frameMs: number): Generator<Scene> {
  const events = shown[Symbol.iterator]();
  const encoder = new TextEncoder();
  let next = events.next();
  const output = function* (end: number): Generator<Uint8Array | TerminalSize> {
    let text = "";
    for (; next.done !== true && next.value.at < end; next = events.next()) {
      const { shows } = next.value;
      if (typeof shows !== "string") {
        yield encoder.encode(text);
        text = "";
        yield shows;
        continue;
      }
      text += shows;
      // A character may go on in the next event.
      if (text.length < BATCH || /[\ud800-\udbff]$/.test(text)) continue;
      yield encoder.encode(text);
      text = "";
    }
    yield encoder.encode(text);
  };
  while (next.done !== true) {
    const { at } = next.value;
    yield { at, output: output(at + frameMs) };
  }
}
