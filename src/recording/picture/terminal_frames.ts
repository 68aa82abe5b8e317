import { HeadlessTerminal } from "../../conversation/terminal/headless_terminal.ts";
import type { CastReader } from "../cassette/cassette_format.ts";
import type { PictureRow } from "./draw_row.ts";
import { terminalRows } from "./draw_screen.ts";

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
  cast: CastReader,
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

/** What has to be known of a cast before any of it is drawn. */
interface FilmMeasure {
  /** The most rows and the most columns that the terminal ever has. */
  readonly largest: TerminalSize;
  /** When the last event was, in milliseconds. */
  readonly last: number;
  /** How long a frame has to be for there to be no more than so many, but one at least. */
  readonly frameMs: (most: number) => number;
}

/** Output that comes within this time is one frame. */
const FRAME_MS = 100;
/** What lasts so long is one frame of any film: more than any cast does. */
const LONGEST_MS = 2e12;

/** A length of frames, and what becomes of a cast with it. */
interface Pace {
  readonly ms: number;
  frames: number;
  /** When the frame ends that was begun last. */
  end: number;
}

/**
 * Measures a cast, which is gone through once.
 *
 * @param options.most how many frames there may be, whatever else is asked for
 */
function measureFilm(cast: CastReader, { most }: { readonly most: number }): FilmMeasure {
  let { width: cols, height: rows } = cast.header;
  let last = 0;
  const events = function* () {
    for (const event of cast.events) {
      last = event.at;
      yield event;
    }
  };
  const left = events();
  // Each length is twice the one before; those that make too many frames are given up on the way.
  let paces: readonly Pace[] = [];
  for (let ms = FRAME_MS; ms < LONGEST_MS; ms *= 2) {
    paces = [...paces, { ms, frames: 0, end: -Infinity }];
  }
  // Whoever stops on the way would end it.
  const shown = { [Symbol.iterator]: () => ({ next: () => left.next() }) };
  for (const { at, shows } of shownEvents({ header: cast.header, events: shown })) {
    if (typeof shows !== "string") {
      cols = Math.max(cols, shows.cols);
      rows = Math.max(rows, shows.rows);
    }
    for (const pace of paces) {
      if (at < pace.end) continue;
      pace.end = at + pace.ms;
      pace.frames++;
    }
    if ((paces[0]?.frames ?? 0) > most) paces = paces.filter(({ frames }) => frames <= most);
  }
  // Only the time of the last one matters.
  while (left.next().done !== true);
  return {
    largest: { cols, rows },
    last,
    frameMs: (count) => paces.find(({ frames }) => frames <= Math.max(1, count))?.ms ?? LONGEST_MS,
  };
}

/** What a terminal is given, and when, in milliseconds: output, or a new size. */
interface ShownEvent {
  readonly at: number;
  readonly shows: string | TerminalSize;
}

/** In character cells. */
interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** Output and new sizes until the child is told to go. */
function* shownEvents({ events }: CastReader): Generator<ShownEvent> {
  for (const { at, code, data } of events) {
    if (code === "o") yield { at, shows: data };
    else if (code === "r") yield { at, shows: sizeIn(data) };
    else if (code === "d" && JSON.parse(data).type === "kill") return;
  }
}

function sizeIn(data: string): TerminalSize {
  const [cols = 0, rows = 0] = data.split("x").map(Number);
  return { cols, rows };
}
