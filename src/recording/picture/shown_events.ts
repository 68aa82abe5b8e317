import type { PlayedCast } from "../cassette/cast.ts";

/** What a terminal is given, and when, in milliseconds: output, or a new size. */
export interface ShownEvent {
  readonly at: number;
  readonly shows: string | TerminalSize;
}

/** In character cells. */
export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** Output and new sizes until the child is told to go. */
export function* shownEvents({ events }: PlayedCast): Generator<ShownEvent> {
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
