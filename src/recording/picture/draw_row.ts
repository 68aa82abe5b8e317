/** The size of a character cell, and where its text stands, in units of the picture. */
export const CELL = { width: 8.4, height: 18, baseline: 13.4 } as const;

/** Gives a style the name of its CSS class; none for the picture's own. */
export type ClassOf = (style: TextStyle, use: "text" | "fill" | "line") => string;

/** Text that every monospaced font has in one width; other characters are placed one by one. */
const PLAIN = /^[\x20-\x7e\xa0-\u024f]$/u;

/** Draws a row as SVG elements, its upper left corner at the origin. */
export function drawRow(row: PictureRow, classOf: ClassOf): string {
  return row.map((span) => ground(span, classOf) + content(span, classOf)).join("");
}

function ground({ col, glyphs, style }: StyledText, classOf: ClassOf): string {
  if (style.background === undefined) return "";
  const cells = glyphs.reduce((sum, glyph) => sum + glyph.cells, 0);
  return `<path${classOf({ colour: style.background }, "fill")} d="${
    rectangle({ x: col * CELL.width, y: 0, width: cells * CELL.width, height: CELL.height })
  }"/>`;
}

function content({ col, glyphs, style }: StyledText, classOf: ClassOf): string {
  let texts = "";
  let blocks = "";
  let lines = "";
  let run: { readonly col: number; text: string; cells: number } | undefined;
  const endRun = () => {
    if (run !== undefined) texts += plainText(run, { style, classOf });
    run = undefined;
  };
  let at = col;
  for (const glyph of glyphs) {
    const drawn = drawnGlyph(glyph.text);
    if (drawn !== undefined) {
      endRun();
      if (drawn.kind === "blocks") blocks += blockPath(drawn, at);
      else lines += linePath(drawn, at);
    } else if (PLAIN.test(glyph.text) && glyph.cells === 1) {
      run ??= { col: at, text: "", cells: 0 };
      run.text += glyph.text;
      run.cells++;
    } else {
      endRun();
      texts += singleText(glyph, { col: at, style, classOf });
    }
    at += glyph.cells;
  }
  endRun();
  if (blocks !== "") texts += `<path${classOf(style, "fill")} d="${blocks}"/>`;
  if (lines !== "") texts += `<path${classOf(style, "line")} d="${joined(lines)}"/>`;
  return texts;
}

interface Look {
  readonly style: TextStyle;
  readonly classOf: ClassOf;
}

function plainText(
  { col, text, cells }: { readonly col: number; readonly text: string; readonly cells: number },
  { style, classOf }: Look,
): string {
  const isLined = style.underline === true || style.strike === true;
  const lead = isLined ? 0 : text.length - text.trimStart().length;
  const shown = isLined ? text : text.trim();
  if (shown === "") return "";
  const width = (isLined ? cells : shown.length) * CELL.width;
  // The length keeps columns in line where a font is not the one that was meant.
  const length = shown.length > 1 ? ` textLength="${short(width)}"` : "";
  return `<text${classOf(style, "text")} x="${
    short((col + lead) * CELL.width)
  }" y="${CELL.baseline}"${length}>${xmlText(shown)}</text>`;
}

function singleText(
  { text, cells }: Glyph,
  { col, style, classOf }: Look & { readonly col: number },
): string {
  if (text.trim() === "") return "";
  // A sign that may be drawn as a picture or as text is text on a terminal.
  const isSign = /^\p{Emoji}$/u.test(text) && !/\p{Emoji_Presentation}/u.test(text);
  const shown = xmlText(isSign ? `${text}\ufe0e` : text);
  if (shown === "") return "";
  const middle = (col + cells / 2) * CELL.width;
  return `<text${classOf(style, "text")} x="${
    short(middle)
  }" y="${CELL.baseline}" text-anchor="middle">${shown}</text>`;
}

function blockPath(
  { blocks }: Extract<DrawnGlyph, { kind: "blocks" }>,
  col: number,
): string {
  return blocks.map(({ left, top, width, height }) =>
    rectangle({
      x: (col + left / 8) * CELL.width,
      y: top / 8 * CELL.height,
      width: width / 8 * CELL.width,
      height: height / 8 * CELL.height,
    })
  ).join("");
}

function linePath({ to, round }: Extract<DrawnGlyph, { kind: "lines" }>, col: number): string {
  const left = col * CELL.width;
  const x = left + CELL.width / 2;
  const y = CELL.height / 2;
  if (round) {
    const side = to.startsWith("l") ? left : left + CELL.width;
    const end = to.endsWith("u") ? 0 : CELL.height;
    return `M${short(side)} ${short(y)}Q${short(x)} ${short(y)} ${short(x)} ${short(end)}`;
  }
  const isAcross = to.includes("l") && to.includes("r");
  const parts = [
    ...(isAcross ? [`M${short(left)} ${short(y)}H${short(left + CELL.width)}`] : []),
    ...(!isAcross && to.includes("l") ? [`M${short(left)} ${short(y)}H${short(x)}`] : []),
    ...(!isAcross && to.includes("r")
      ? [`M${short(x)} ${short(y)}H${short(left + CELL.width)}`]
      : []),
    ...(to.includes("u") ? [`M${short(x)} 0V${short(y)}`] : []),
    ...(to.includes("d") ? [`M${short(x)} ${short(y)}V${CELL.height}`] : []),
  ];
  return parts.join("");
}

/** Lines that go on where the one before ends are one line. */
function joined(path: string): string {
  return path.replace(/(?<=H)([\d.]+)M\1 ([\d.]+)H(?=[\d.]+)/gu, "");
}

function rectangle(
  { x, y, width, height }: {
    readonly x: number;
    readonly y: number;
    readonly width: number;
    readonly height: number;
  },
): string {
  return `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`;
}

/** A number without more places than are to be seen. */
function short(value: number): string {
  return `${Math.round(value * 100) / 100}`;
}

/** What XML 1.0 allows, without the controls of C1, and without what turns the direction of text. */
const UNFIT = /[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|\p{Bidi_Control}/gu;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** Any text as the content of an XML element or attribute; what cannot be in one is left out. */
export function xmlText(text: string): string {
  return text.replace(UNFIT, "").replace(/[&<>"]/gu, (character) => ENTITIES[character] ?? "");
}

/** A part of a cell, in eighths of its width and height from its upper left corner. */
interface Block {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** How a character is drawn that has to meet its neighbours, whatever the font: blocks, or lines from the middle. */
type DrawnGlyph =
  | { readonly kind: "blocks"; readonly blocks: readonly Block[] }
  | { readonly kind: "lines"; readonly to: string; readonly round: boolean };

/** Lines to the left, right, up and down. */
const LINES: Readonly<Record<string, string>> = {
  "─": "lr",
  "━": "lr",
  "╌": "lr",
  "┄": "lr",
  "┈": "lr",
  "│": "ud",
  "┃": "ud",
  "╎": "ud",
  "┆": "ud",
  "┊": "ud",
  "┌": "rd",
  "┐": "ld",
  "└": "ru",
  "┘": "lu",
  "├": "rud",
  "┤": "lud",
  "┬": "lrd",
  "┴": "lru",
  "┼": "lrud",
};
const ROUND: Readonly<Record<string, string>> = { "╭": "rd", "╮": "ld", "╰": "ru", "╯": "lu" };
/** The quadrants of U+2596 to U+259F: upper left, upper right, lower left, lower right. */
const QUADRANTS: Readonly<Record<string, string>> = {
  "▖": "c",
  "▗": "d",
  "▘": "a",
  "▙": "acd",
  "▚": "ad",
  "▛": "abc",
  "▜": "abd",
  "▝": "b",
  "▞": "bc",
  "▟": "bcd",
};
const QUADRANT_BLOCKS: Readonly<Record<string, Block>> = {
  a: { left: 0, top: 0, width: 4, height: 4 },
  b: { left: 4, top: 0, width: 4, height: 4 },
  c: { left: 0, top: 4, width: 4, height: 4 },
  d: { left: 4, top: 4, width: 4, height: 4 },
};

/** How a character is drawn, if it is no matter of the font: box drawing in light lines, and block elements. */
function drawnGlyph(character: string): DrawnGlyph | undefined {
  const lines = LINES[character];
  if (lines !== undefined) return { kind: "lines", to: lines, round: false };
  const round = ROUND[character];
  if (round !== undefined) return { kind: "lines", to: round, round: true };
  const blocks = blocksOf(character);
  return blocks === undefined ? undefined : { kind: "blocks", blocks };
}

function blocksOf(character: string): readonly Block[] | undefined {
  const quadrants = QUADRANTS[character];
  if (quadrants !== undefined) {
    return [...quadrants].map((quadrant) => QUADRANT_BLOCKS[quadrant] as Block);
  }
  const code = character.codePointAt(0) ?? 0;
  // Lower eighths, left eighths from 7 down to 1, and the single ones between them.
  if (code >= 0x2581 && code <= 0x2588) return [bottom(code - 0x2580)];
  if (code >= 0x2589 && code <= 0x258f) return [{ ...FULL, width: 0x2590 - code }];
  switch (character) {
    case "▀":
      return [{ ...FULL, height: 4 }];
    case "▐":
      return [{ ...FULL, left: 4, width: 4 }];
    case "▔":
      return [{ ...FULL, height: 1 }];
    case "▕":
      return [{ ...FULL, left: 7, width: 1 }];
    default:
      return undefined;
  }
}

const FULL: Block = { left: 0, top: 0, width: 8, height: 8 };

function bottom(eighths: number): Block {
  return { ...FULL, top: 8 - eighths, height: eighths };
}

/** How a piece of text looks; a colour that is absent is the picture's own. */
export interface TextStyle {
  /** Colours as CSS has them. */
  readonly colour?: string;
  readonly background?: string;
  readonly bold?: true;
  readonly dim?: true;
  readonly italic?: true;
  readonly underline?: true;
  readonly strike?: true;
}

/** A character, with what combines with it, and how many cells it takes. */
export interface Glyph {
  readonly text: string;
  readonly cells: number;
}

/** Neighbouring characters of one style. */
export interface StyledText {
  /** The first cell, counted from 0. */
  readonly col: number;
  readonly glyphs: readonly Glyph[];
  readonly style: TextStyle;
}

/** A row of a terminal in a picture; blank cells at its end are left out. */
export type PictureRow = readonly StyledText[];

/** A row of plain pieces of text, each in a style. */
export function textRow(pieces: readonly (readonly [string, TextStyle])[]): PictureRow {
  let col = 0;
  return pieces.map(([text, style]) => {
    const glyphs = Array.from(new Intl.Segmenter().segment(text), ({ segment }) => ({
      text: segment,
      cells: cellsOf(segment),
    }));
    const span = { col, glyphs, style };
    col += glyphs.reduce((sum, { cells }) => sum + cells, 0);
    return span;
  });
}

/** Emoji, and the scripts whose characters fill a square. */
const WIDE =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60]/u;

/** How many cells of a terminal a character takes. */
export function cellsOf(character: string): number {
  return WIDE.test(character) ? 2 : 1;
}

/** What a picture's text and its background are drawn in unless something else is asked for. */
export const TEXT_COLOUR = "#d4d7de";
export const BACKGROUND = "#14171f";

/** The first 16 colours, which a terminal's theme decides. */
const THEME: readonly string[] = [
  "#3b4048",
  "#e06c75",
  "#98c379",
  "#e5c07b",
  "#61afef",
  "#c678dd",
  "#56b6c2",
  "#c8ccd4",
  "#6b7280",
  "#f08c95",
  "#b5e08f",
  "#f2d59b",
  "#8cc6ff",
  "#dba0ea",
  "#7fd3de",
  "#ffffff",
];
/** The steps of the 6x6x6 colours after them. */
const STEPS: readonly number[] = [0, 95, 135, 175, 215, 255];

/** One of a terminal's 256 colours, as CSS has it. */
export function paletteColour(index: number): string {
  const themed = THEME[index];
  if (themed !== undefined) return themed;
  if (index >= 232) {
    const grey = 8 + 10 * (index - 232);
    return rgbColour(grey * 0x010101);
  }
  const cube = index - 16;
  const [red = 0, green = 0, blue = 0] = [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6]
    .map((step) => STEPS[step] ?? 0);
  return rgbColour(red * 0x10000 + green * 0x100 + blue);
}

/** A colour of 24 bits, as CSS has it. */
export function rgbColour(rgb: number): string {
  return `#${rgb.toString(16).padStart(6, "0")}`;
}

/** The CSS of all text in a terminal. */
export const TEXT_RULE =
  `text{font:14px ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:${TEXT_COLOUR};white-space:pre}`;

/** The CSS of a style; what it says of text does not matter to shapes. */
export function styleRule(style: TextStyle, use: "text" | "fill" | "line"): string {
  const ink = style.colour ?? TEXT_COLOUR;
  const opacity = style.dim ? ";opacity:.6" : "";
  if (use === "line") return `fill:none;stroke:${ink}${opacity}`;
  if (use === "fill") return `fill:${ink}${opacity}`;
  const lines = [
    ...(style.underline ? ["underline"] : []),
    ...(style.strike ? ["line-through"] : []),
  ];
  return [
    ...(style.colour === undefined ? [] : [`fill:${ink}`]),
    ...(style.dim ? ["opacity:.6"] : []),
    ...(style.bold ? ["font-weight:700"] : []),
    ...(style.italic ? ["font-style:italic"] : []),
    ...(lines.length === 0 ? [] : [`text-decoration:${lines.join(" ")}`]),
  ].join(";");
}
