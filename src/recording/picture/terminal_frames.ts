import { HeadlessTerminal } from "../../conversation/terminal/headless_terminal.ts";
import type { CastReader } from "../cassette/cassette_format.ts";
import type { PictureRow } from "./draw_row.ts";
import { terminalRows } from "./draw_screen.ts";

/** The contents of the terminal from a time on. */
interface TerminalFrame {
  /** Milliseconds since the child started. */
  readonly at: number;
  /** From the top, without blank rows at the end. */
  readonly rows: readonly PictureRow[];
}

/** All frames of a cast. */
interface TerminalFilm {
  /** The terminal's largest size, in character cells. */
  readonly cols: number;
  readonly rows: number;
  readonly frames: readonly TerminalFrame[];
  /** The time of the last event in milliseconds. */
  readonly last: number;
}

/**
 * The maximum number of cells in all frames together. A terminal of the default size reaches the maximum number of
 * frames of a film first.
 */
const MOST_CELLS = 2_000_000;
/** The maximum work for one frame, in units of about 10 ns. Normal output of that time needs less. */
const FRAME_WORK = 3_000_000;
/** Characters that are drawn at once. */
const BATCH = 64 * 1024;

/**
 * Draws a cast. A frame has the output of a tenth of a second, or of a longer time if there would be more than `most`
 * frames, or too many cells. Leaves out frames without a change, and all output after the child is told to exit.
 *
 * Reads the cast twice, and needs memory for its longest event only.
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

/** The output within one frame. It has to be read before the next scene. */
interface Scene {
  readonly at: number;
  /** Output and new sizes, in order. */
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
      // A surrogate pair may continue in the next event.
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

/** Facts about a cast that are needed before drawing. */
interface FilmMeasure {
  /** The most rows and the most columns that the terminal has. */
  readonly largest: TerminalSize;
  /** The time of the last event in milliseconds. */
  readonly last: number;
  /** Returns the length of a frame, in milliseconds, with which there are at most this many frames. */
  readonly frameMs: (most: number) => number;
}

/** The shortest frame in milliseconds. */
const FRAME_MS = 100;
/** A frame length that is longer than any cast. */
const LONGEST_MS = 2e12;

/** A frame length, and the number of frames with it so far. */
interface Pace {
  readonly ms: number;
  frames: number;
  /** The end of the current frame. */
  end: number;
}

/**
 * Measures a cast in one pass.
 *
 * @param options.most the most frames that `frameMs` is asked for
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
  // Tries frame lengths that double each time, and drops those with too many frames.
  let paces: readonly Pace[] = [];
  for (let ms = FRAME_MS; ms < LONGEST_MS; ms *= 2) {
    paces = [...paces, { ms, frames: 0, end: -Infinity }];
  }
  // Breaking out of a loop over the generator itself would end it.
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
  // Reads on for the time of the last event.
  while (left.next().done !== true);
  return {
    largest: { cols, rows },
    last,
    frameMs: (count) => paces.find(({ frames }) => frames <= Math.max(1, count))?.ms ?? LONGEST_MS,
  };
}

/** Output or a new size, and its time in milliseconds. */
interface ShownEvent {
  readonly at: number;
  readonly shows: string | TerminalSize;
}

/** In character cells. */
interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** Output and new sizes, until the child is asked to exit. */
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
