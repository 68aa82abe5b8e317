import type { TapeEntry } from "../cassette/cassette.ts";
import type { PlayedCast } from "../cassette/cast.ts";
import { drawSvg, type Film, type FilmFrame } from "./draw_svg.ts";
import type { PictureRow } from "./picture_row.ts";
import { shellScene } from "./shell_scene.ts";
import { terminalFrames } from "./terminal_frames.ts";

/**
 * Draws a recorded run as one animated SVG: the command as it is typed, what Claude Code shows meanwhile, and what the
 * command prints.
 *
 * The same cassette always gives the same text.
 *
 * @param cassette one whose events and frames can be gone through several times
 */
export async function drawCassette(cassette: DrawnCassette): Promise<string> {
  return drawSvg(await filmOf(cassette));
}

/** What of a cassette is drawn. */
interface DrawnCassette {
  readonly cast: PlayedCast;
  readonly tape: Iterable<TapeEntry>;
}

/** Of a run that draws more often than this, less is shown. */
const MOST_FRAMES = 150;
/** Nobody has to wait longer for the next frame. */
const MOST_IDLE_MS = 2000;
/** A longer film is shown faster. */
const MOST_MS = 40_000;
/** How long the end stands. */
const END_MS = 5000;

/** Makes a film of a recorded run. */
async function filmOf(cassette: DrawnCassette): Promise<Film> {
  const child = await terminalFrames(cassette.cast, { most: MOST_FRAMES });
  const scene = shellScene(cassette, child);
  const moments = [
    ...scene.moments.map(({ at, rows }) => ({ at, shell: rows })),
    ...child.frames.map(({ at, rows }) => ({ at, child: rows })),
  ].sort((one, other) => one.at - other.at);
  let shell: readonly PictureRow[] = [];
  let drawn: readonly PictureRow[] = [];
  const frames = moments.map((moment, index): FilmFrame => {
    if ("shell" in moment) shell = moment.shell;
    else drawn = moment.child;
    const next = moments[index + 1];
    const ms = next === undefined ? END_MS : Math.min(next.at - moment.at, MOST_IDLE_MS);
    return { ms, shell, child: drawn };
  }).filter(({ ms }) => ms > 0);
  return {
    title: scene.command,
    description: `A terminal in which the command ${scene.command} is typed. Below it, the ` +
      `interactive Claude Code that is driven behind it takes the prompt and works. ` +
      (scene.printed === "" ? "It prints nothing." : `Then it prints: ${scene.printed}`),
    cols: child.cols,
    shellRows: Math.max(...frames.map((frame) => frame.shell.length)),
    childRows: Math.max(1, ...frames.map((frame) => frame.child.length)),
    frames: hurried(frames),
  };
}

/** In no more time than a film may take, but for its end. */
function hurried(frames: readonly FilmFrame[]): readonly FilmFrame[] {
  const last = frames.length - 1;
  const total = frames.slice(0, last).reduce((sum, { ms }) => sum + ms, 0);
  const pace = Math.min(1, MOST_MS / total);
  return frames.map((frame, index) => index === last ? frame : { ...frame, ms: frame.ms * pace });
}
