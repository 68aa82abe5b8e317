import type { PlayedCast } from "../cassette/cast.ts";
import { shownEvents, type TerminalSize } from "./shown_events.ts";

/** What has to be known of a cast before any of it is drawn. */
export interface FilmMeasure {
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
export function measureFilm(cast: PlayedCast, { most }: { readonly most: number }): FilmMeasure {
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
