import type { CastReader, TapeEntry } from "../cassette/cassette_format.ts";
import {
  BACKGROUND,
  CELL,
  drawRow,
  type PictureRow,
  styleRule,
  TEXT_RULE,
  type TextStyle,
  xmlText,
} from "./draw_row.ts";
import { shellScene } from "./shell_scene.ts";
import { terminalFrames } from "./terminal_frames.ts";
import { CliError } from "../../cli_error.ts";

/**
 * Draws a recorded run as one animated SVG: the command as it is typed, what Claude Code shows meanwhile, and what the
 * command prints.
 *
 * The same cassette always gives the same text.
 *
 * @param cassette one whose events and frames can be gone through several times
 */
export async function drawCassette(cassette: DrawnCassette): Promise<string> {
  return drawSvg(await makeFilm(cassette));
}

interface DrawnCassette {
  readonly cast: CastReader;
  readonly tape: Iterable<TapeEntry>;
}

/** The maximum number of frames of the child. A run that draws more often shows fewer. */
const MOST_FRAMES = 150;
/** The maximum time until the next frame, in milliseconds. */
const MOST_IDLE_MS = 2000;
/** The maximum duration of a film without its end, in milliseconds. A longer film is shown faster. */
const MOST_MS = 40_000;
/** How long the film shows its end. */
const END_MS = 5000;

async function makeFilm(cassette: DrawnCassette): Promise<Film> {
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
    frames: speedUp(frames),
  };
}

/** Speeds up a film that is too long, except for its end. */
function speedUp(frames: readonly FilmFrame[]): readonly FilmFrame[] {
  const last = frames.length - 1;
  const total = frames.slice(0, last).reduce((sum, { ms }) => sum + ms, 0);
  const pace = Math.min(1, MOST_MS / total);
  return frames.map((frame, index) => index === last ? frame : { ...frame, ms: frame.ms * pace });
}

/** An animated picture of a run: a shell above, and the terminal of the child below. */
interface Film {
  readonly title: string;
  readonly description: string;
  /** The width of both, and the height of each, in character cells. */
  readonly cols: number;
  readonly shellRows: number;
  readonly childRows: number;
  readonly frames: readonly FilmFrame[];
}

/** One frame of a film, and how long it shows, in milliseconds. */
interface FilmFrame {
  readonly ms: number;
  readonly shell: readonly PictureRow[];
  readonly child: readonly PictureRow[];
}

/** Space around the text, and the heights of the bars above the two terminals. */
const EDGE = 16;
const TITLE_BAR = 32;
const LABEL_BAR = 26;

/** The maximum number of characters in the rows of a picture. Real pictures have some hundred thousand. */
const MOST_CHARACTERS = 64 * 1024 * 1024;

const SHELL_LABEL = "what you see";
const CHILD_LABEL = "what claude-print drives behind it: the interactive Claude Code";

/**
 * Draws a film as one SVG that CSS alone animates, without scripts and external resources. Without animation it shows its
 * end.
 *
 * @throws {CliError} if the SVG would be too large to show
 */
export function drawSvg(film: Film): string {
  const shared = new SharedParts();
  const width = film.cols * CELL.width;
  const shellHeight = film.shellRows * CELL.height;
  const childTop = shellHeight + EDGE + LABEL_BAR + EDGE / 2;
  const height = childTop + film.childRows * CELL.height;
  const frames = film.frames.map(({ shell, child }, index) => {
    const content = shell.map((row, at) => shared.rowAt(row, at * CELL.height)).join("") +
      child.map((row, at) => shared.rowAt(row, childTop + at * CELL.height)).join("");
    return index === 0
      ? `<g>${content}</g>`
      : `<g transform="translate(${place(index, width)})">${content}</g>`;
  });
  const size = { width: width + 2 * EDGE, height: TITLE_BAR + EDGE + height + EDGE };
  const [fullWidth, fullHeight] = [round(size.width), round(size.height)];
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${fullWidth} ${fullHeight}" ` +
    `width="${fullWidth}" height="${fullHeight}" role="img" aria-labelledby="title desc">`,
    `<title id="title">${xmlText(film.title)}</title>`,
    `<desc id="desc">${xmlText(film.description)}</desc>`,
    `<style>${styles(film, { width, classes: shared.classes })}</style>`,
    `<defs>${shared.definitions.join("\n")}</defs>`,
    ...windowParts(size, { labelTop: TITLE_BAR + EDGE + shellHeight + EDGE }),
    `<svg x="${EDGE}" y="${TITLE_BAR + EDGE}" width="${
      round(width)
    }" height="${height}" xml:space="preserve">`,
    `<g class="film">`,
    ...frames,
    "</g></svg></svg>",
  ];
  return `${lines.join("\n")}\n`;
}

/** The window around the film, with its buttons and the labels of both terminals. */
function windowParts(
  { width, height }: { readonly width: number; readonly height: number },
  { labelTop }: { readonly labelTop: number },
): readonly string[] {
  const label = (text: string, y: number) =>
    `<text class="label" x="${round(width - EDGE)}" y="${y}" text-anchor="end">${
      xmlText(text)
    }</text>`;
  const [bar, back] = [round(width - 2), round(2 - width)];
  return [
    `<rect class="window" x=".5" y=".5" width="${round(width - 1)}" height="${
      round(height - 1)
    }" rx="9"/>`,
    [["#ff5f57", 20], ["#febc2e", 38], ["#28c840", 56]]
      .map(([colour, x]) => `<circle cx="${x}" cy="16" r="5.5" fill="${colour}"/>`).join(""),
    label(SHELL_LABEL, 20),
    `<path class="bar" d="M1 ${labelTop}h${bar}v${LABEL_BAR}h${back}z"/>`,
    label(CHILD_LABEL, labelTop + 17),
  ];
}

/** The parts of an SVG that frames share. Equal rows and equal styles are defined once. */
class SharedParts {
  /** Names of CSS classes by their rules. */
  readonly classes = new Map<string, string>();
  readonly definitions: string[] = [];
  readonly #rowIds = new Map<string, string>();
  #size = 0;

  /** The element that shows a row at a height. */
  rowAt(row: PictureRow, y: number): string {
    const drawn = drawRow(row, (style, use) => this.#classOf(style, use));
    if (drawn === "") return "";
    const id = this.#rowIds.get(drawn) ?? this.#define(drawn);
    return `<use href="#${id}"${y === 0 ? "" : ` y="${y}"`}/>`;
  }

  #define(drawn: string): string {
    const id = `r${lettersOf(this.#rowIds.size)}`;
    this.#rowIds.set(drawn, id);
    this.#size += drawn.length;
    if (this.#size > MOST_CHARACTERS) {
      throw new CliError("Cannot draw the recording: its picture would be too large", {
        suggestion: "Record a run that draws less, or in a smaller terminal",
      });
    }
    this.definitions.push(`<g id="${id}">${drawn}</g>`);
    return id;
  }

  #classOf(style: TextStyle, use: "text" | "fill" | "line"): string {
    const rule = styleRule(style, use);
    if (rule === "") return "";
    const name = this.classes.get(rule) ?? lettersOf(this.classes.size);
    this.classes.set(rule, name);
    return ` class="${name}"`;
  }
}

function styles(
  { frames }: Film,
  options: { readonly width: number; readonly classes: ReadonlyMap<string, string> },
): string {
  const total = frames.reduce((sum, { ms }) => sum + ms, 0);
  let since = 0;
  const keys = frames.map(({ ms }, index) => {
    const key = `${round(since / total * 100)}%{transform:translateX(${-place(
      index,
      options.width,
    )}px)}`;
    since += ms;
    return key;
  });
  const end = -place(frames.length - 1, options.width);
  return [
    TEXT_RULE,
    `.window{fill:${BACKGROUND};stroke:#3a404c}`,
    `.bar{fill:#20242e}`,
    `.label{font:12px system-ui,sans-serif;fill:#969eae}`,
    ...[...options.classes].map(([rule, name]) => `.${name}{${rule}}`),
    `.film{transform:translateX(${end}px);animation:film ${
      round(total / 1000)
    }s step-end infinite}`,
    `@keyframes film{${keys.join("")}}`,
    `@media (prefers-reduced-motion:reduce){.film{animation:none}}`,
  ].join("\n");
}

/** a, b, … z, ba, … for the names of classes and rows. */
function lettersOf(index: number): string {
  const letter = String.fromCharCode(97 + index % 26);
  return index < 26 ? letter : lettersOf(Math.floor(index / 26) - 1) + letter;
}

/** The position of a frame. The frames stand next to each other, and the animation moves them past a window. */
function place(index: number, width: number): number {
  return index * Math.ceil(width + 20);
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
