import { loadTerminal } from "../session/load_terminal.ts";
import type { Cast, CastEvent } from "./cast.ts";
import type { PictureRow } from "./picture_row.ts";
import { terminalRow } from "./terminal_row.ts";

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
  readonly events: readonly (string | { readonly cols: number; readonly rows: number })[];
}

/** Output that comes within this time is one frame. */
const FRAME_MS = 100;

/**
 * Draws a cast: a frame for all output of a tenth of a second, or of as much longer as it takes to need no more than
 * `most` of them. A frame that looks like the one before is left out, and so is what the child writes once it has been
 * told to go.
 *
 * Loads a headless xterm, as the driver does for its looks at the screen.
 */
export async function terminalFrames(
  cast: Cast,
  options: { readonly most: number },
): Promise<TerminalFilm> {
  const size = { cols: cast.header.width, rows: cast.header.height };
  const Terminal = await loadTerminal();
  const terminal = new Terminal({ ...size, allowProposedApi: true, scrollback: 0 });
  let isCursorShown = true;
  for (const [final, shown] of [["h", true], ["l", false]] as const) {
    terminal.parser.registerCsiHandler({ prefix: "?", final }, (parameters: readonly unknown[]) => {
      if (parameters.includes(25)) isCursorShown = shown;
      return false;
    });
  }
  const write = (text: string) => new Promise<void>((done) => terminal.write(text, done));
  const look = (): readonly PictureRow[] => {
    const { active } = terminal.buffer;
    const rows = Array.from({ length: terminal.rows }, (_, row) => {
      const line = active.getLine(active.baseY + row);
      const cursor = isCursorShown && row === active.cursorY ? active.cursorX : undefined;
      return line === undefined ? [] : terminalRow(line, { cursor });
    });
    return rows.slice(0, rows.findLastIndex((row) => row.length > 0) + 1);
  };
  const frames: TerminalFrame[] = [{ at: 0, rows: [] }];
  let seen = "[]";
  for (const { at, events } of scenesOf(cast, options.most)) {
    for (const event of events) {
      if (typeof event === "string") {
        await write(event);
      } else {
        terminal.resize(event.cols, event.rows);
        size.cols = Math.max(size.cols, event.cols);
        size.rows = Math.max(size.rows, event.rows);
      }
    }
    const rows = look();
    const now = JSON.stringify(rows);
    if (now !== seen) frames.push({ at, rows });
    seen = now;
  }
  terminal.dispose();
  return { ...size, frames };
}

function scenesOf({ events }: Cast, most: number): readonly Scene[] {
  const end = events.findIndex(({ code, data }) =>
    code === "y" && JSON.parse(data).type === "kill"
  );
  const shown = (end < 0 ? events : events.slice(0, end))
    .filter(({ code }) => code === "o" || code === "r");
  for (let frameMs = FRAME_MS;; frameMs *= 2) {
    const scenes = scenesWithin(shown, frameMs);
    if (scenes.length <= most) return scenes;
  }
}

function scenesWithin(shown: readonly CastEvent[], frameMs: number): readonly Scene[] {
  const scenes: { at: number; events: (string | { cols: number; rows: number })[] }[] = [];
  for (const { at, code, data } of shown) {
    let scene = scenes.at(-1);
    if (scene === undefined || at >= scene.at + frameMs) {
      scene = { at, events: [] };
      scenes.push(scene);
    }
    const { events } = scene;
    const last = events.at(-1);
    if (code === "r") {
      const [cols = 0, rows = 0] = data.split("x").map(Number);
      events.push({ cols, rows });
    } else if (typeof last === "string") {
      events[events.length - 1] = last + data;
    } else {
      events.push(data);
    }
  }
  return scenes;
}
