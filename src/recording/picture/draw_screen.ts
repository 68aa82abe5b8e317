import { HeadlessTerminal } from "../../conversation/terminal/headless_terminal.ts";
import {
  BACKGROUND,
  CELL,
  drawRow,
  type Glyph,
  paletteColour,
  type PictureRow,
  rgbColour,
  type StyledText,
  styleRule,
  TEXT_COLOUR,
  TEXT_RULE,
  type TextStyle,
} from "./draw_row.ts";
import type { IBufferCell, IBufferLine } from "@xterm/headless";

/** The maximum work for one picture, in units of about 10 ns. */
const MOST_WORK = 20_000_000;

/** Draws the screen of a terminal after some output as an SVG without scripts and without external resources. */
export async function drawScreen(
  chunks: readonly Uint8Array[],
  size: { readonly rows: number; readonly cols: number },
): Promise<string> {
  using terminal = await HeadlessTerminal.open(size);
  await terminal.draw(chunks, { work: MOST_WORK });
  const classOf = (style: TextStyle, use: "text" | "fill" | "line") => {
    const rule = styleRule(style, use);
    return rule === "" ? "" : ` style="${rule}"`;
  };
  const rows = terminalRows(terminal).map((row, at) =>
    `<g transform="translate(0 ${at * CELL.height})">${drawRow(row, classOf)}</g>\n`
  );
  const width = Math.round(size.cols * CELL.width * 100) / 100;
  const height = size.rows * CELL.height;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" ` +
    `height="${height}" role="img" xml:space="preserve"><style>${TEXT_RULE}</style>` +
    `<rect width="100%" height="100%" fill="${BACKGROUND}"/>\n${rows.join("")}</svg>\n`;
}

/** The rows of a terminal's screen, without blank rows at the end. */
export function terminalRows(terminal: HeadlessTerminal): readonly PictureRow[] {
  const { active } = terminal.buffer;
  const rows = Array.from({ length: terminal.rows }, (_, row) => {
    const line = active.getLine(active.baseY + row);
    const cursor = terminal.isCursorShown && row === active.cursorY ? active.cursorX : undefined;
    return line === undefined ? [] : terminalRow(line, { cursor });
  });
  return rows.slice(0, rows.findLastIndex((row) => row.length > 0) + 1);
}

/** One row of a terminal. The cursor is a cell with inverted colours. */
function terminalRow(
  line: IBufferLine,
  { cursor }: { readonly cursor: number | undefined },
): PictureRow {
  const spans: { col: number; glyphs: Glyph[]; style: TextStyle }[] = [];
  let key = "";
  for (let col = 0; col < line.length; col++) {
    const cell = line.getCell(col);
    // The second half of a wide character.
    if (cell === undefined || cell.getWidth() === 0) continue;
    const style = styleOf(cell, col === cursor);
    const glyph = {
      text: cell.isInvisible() ? " " : cell.getChars() || " ",
      cells: cell.getWidth(),
    };
    const last = spans.at(-1);
    const next = JSON.stringify(style);
    if (last !== undefined && next === key) last.glyphs.push(glyph);
    else spans.push({ col, glyphs: [glyph], style });
    key = next;
  }
  return trimBlanks(spans);
}

/** Removes blanks at the end of a row, unless they have a background or a line. */
function trimBlanks(spans: readonly StyledText[]): PictureRow {
  const kept = [...spans];
  for (let last = kept.at(-1); last !== undefined; last = kept.at(-1)) {
    const { background: ground, underline, strike } = last.style;
    if (ground !== undefined || underline || strike) break;
    const end = last.glyphs.findLastIndex(({ text }) => text !== " ") + 1;
    kept.pop();
    if (end === 0) continue;
    kept.push({ ...last, glyphs: last.glyphs.slice(0, end) });
    break;
  }
  return kept;
}

function styleOf(cell: IBufferCell, isCursor: boolean): TextStyle {
  const ink = colourOf(cell.getFgColor(), {
    isDefault: cell.isFgDefault(),
    isRgb: cell.isFgRGB(),
    // Bold text in one of the first 8 colours is bright, as most terminals draw it.
    brighter: cell.isFgPalette() && cell.isBold() !== 0 && cell.getFgColor() < 8,
  });
  const ground = colourOf(cell.getBgColor(), {
    isDefault: cell.isBgDefault(),
    isRgb: cell.isBgRGB(),
    brighter: false,
  });
  const turned = (cell.isInverse() !== 0) !== isCursor;
  const colours = turned
    ? { ink: ground ?? BACKGROUND, ground: ink ?? TEXT_COLOUR }
    : { ink, ground };
  return {
    ...(colours.ink === undefined ? {} : { colour: colours.ink }),
    ...(colours.ground === undefined ? {} : { background: colours.ground }),
    ...(cell.isBold() === 0 ? {} : { bold: true }),
    ...(cell.isDim() === 0 ? {} : { dim: true }),
    ...(cell.isItalic() === 0 ? {} : { italic: true }),
    ...(cell.isUnderline() === 0 ? {} : { underline: true }),
    ...(cell.isStrikethrough() === 0 ? {} : { strike: true }),
  };
}

function colourOf(
  colour: number,
  options: { readonly isDefault: boolean; readonly isRgb: boolean; readonly brighter: boolean },
): string | undefined {
  if (options.isDefault) return undefined;
  if (options.isRgb) return rgbColour(colour);
  return paletteColour(options.brighter ? colour + 8 : colour);
}
