/** The size of a character cell and the baseline of its text, in units of the SVG. */
export const CELL = { width: 8.4, height: 18, baseline: 13.4 } as const;

/** Returns the attribute that gives an element a style; empty for the default style. */
type ClassOf = (style: TextStyle, use: "text" | "fill" | "line") => string;

/** Characters that are one cell wide in every monospaced font. Others are placed one by one. */
const PLAIN = /^[\x20-\x7e\xa0-\u024f]$/u;

/** Draws a row as SVG elements, its upper left corner at the origin. */
export function drawRow(row: PictureRow, classOf: ClassOf): string {
  return row.map((span) => drawBackground(span, classOf) + drawText(span, classOf)).join("");
}

function drawBackground({ col, glyphs, style }: StyledText, classOf: ClassOf): string {
  if (style.background === undefined) return "";
  const cells = glyphs.reduce((sum, glyph) => sum + glyph.cells, 0);
  return `<path${classOf({ colour: style.background }, "fill")} d="${
    rectangle({ x: col * CELL.width, y: 0, width: cells * CELL.width, height: CELL.height })
  }"/>`;
}

function drawText({ col, glyphs, style }: StyledText, classOf: ClassOf): string {
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
      texts += glyphText(glyph, { col: at, style, classOf });
    }
    at += glyph.cells;
  }
  endRun();
  if (blocks !== "") texts += `<path${classOf(style, "fill")} d="${blocks}"/>`;
  if (lines !== "") texts += `<path${classOf(style, "line")} d="${joinLines(lines)}"/>`;
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
  // A fixed length aligns columns if the browser takes another font.
  const length = shown.length > 1 ? ` textLength="${rounded(width)}"` : "";
  return `<text${classOf(style, "text")} x="${
    rounded((col + lead) * CELL.width)
  }" y="${CELL.baseline}"${length}>${xmlText(shown)}</text>`;
}

function glyphText(
  { text, cells }: Glyph,
  { col, style, classOf }: Look & { readonly col: number },
): string {
  if (text.trim() === "") return "";
  // The variation selector has a sign drawn as text, as on a terminal, and not as an emoji.
  const isSign = /^\p{Emoji}$/u.test(text) && !/\p{Emoji_Presentation}/u.test(text);
  const shown = xmlText(isSign ? `${text}\ufe0e` : text);
  if (shown === "") return "";
  const middle = (col + cells / 2) * CELL.width;
  return `<text${classOf(style, "text")} x="${
    rounded(middle)
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
    return `M${rounded(side)} ${rounded(y)}Q${rounded(x)} ${rounded(y)} ${rounded(x)} ${
      rounded(end)
    }`;
  }
  const isAcross = to.includes("l") && to.includes("r");
  const parts = [
    ...(isAcross ? [`M${rounded(left)} ${rounded(y)}H${rounded(left + CELL.width)}`] : []),
    ...(!isAcross && to.includes("l") ? [`M${rounded(left)} ${rounded(y)}H${rounded(x)}`] : []),
    ...(!isAcross && to.includes("r")
      ? [`M${rounded(x)} ${rounded(y)}H${rounded(left + CELL.width)}`]
      : []),
    ...(to.includes("u") ? [`M${rounded(x)} 0V${rounded(y)}`] : []),
    ...(to.includes("d") ? [`M${rounded(x)} ${rounded(y)}V${CELL.height}`] : []),
  ];
  return parts.join("");
}

/** Joins lines that continue each other. */
function joinLines(path: string): string {
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
  return `M${rounded(x)} ${rounded(y)}h${rounded(width)}v${rounded(height)}h${rounded(-width)}z`;
}

/** Two decimal places: more are not visible. */
function rounded(value: number): string {
  return `${Math.round(value * 100) / 100}`;
}

/** Characters that XML 1.0 does not allow, controls of C1, and characters that change the direction of text. */
const UNFIT = /[^\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]|\p{Bidi_Control}/gu;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

/** Escapes a text for an XML element or attribute, without unsuitable characters. */
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

/**
 * The shape of a character that must touch its neighbours in any font: blocks, or lines from the middle of the cell.
 */
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

/** The shape of a box drawing or block character; undefined for characters of the font. */
function drawnGlyph(character: string): DrawnGlyph | undefined {
  const lines = LINES[character];
  if (lines !== undefined) return { kind: "lines", to: lines, round: false };
  const round = ROUND[character];
  if (round !== undefined) return { kind: "lines", to: round, round: true };
  const blocks = blockElements(character);
  return blocks === undefined ? undefined : { kind: "blocks", blocks };
}

function blockElements(character: string): readonly Block[] | undefined {
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

/** The look of a piece of text. Absent colours are those of the picture. */
export interface TextStyle {
  /** CSS colours. */
  readonly colour?: string;
  readonly background?: string;
  readonly bold?: true;
  readonly dim?: true;
  readonly italic?: true;
  readonly underline?: true;
  readonly strike?: true;
}

/** A character with its combining marks, and its width in cells. */
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

/** A row of a terminal, without blank cells at its end. */
export type PictureRow = readonly StyledText[];

/** Makes a row of texts, each with a style. */
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

/** The width of a character in cells. */
export function cellsOf(character: string): number {
  return WIDE.test(character) ? 2 : 1;
}

/** The default colours of text and background. */
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

/** The CSS colour of one of a terminal's 256 colours. */
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

/** The CSS colour of 24 bits. */
export function rgbColour(rgb: number): string {
  return `#${rgb.toString(16).padStart(6, "0")}`;
}

/** The CSS of all text in a terminal. */
export const TEXT_RULE =
  `text{font:14px ui-monospace,SFMono-Regular,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;fill:${TEXT_COLOUR};white-space:pre}`;

/** The CSS rule of a style. Shapes take only its colour and opacity. */
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
