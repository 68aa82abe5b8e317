/** A part of a cell, in eighths of its width and height from its upper left corner. */
interface Block {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** How a character is drawn that has to meet its neighbours, whatever the font: blocks, or lines from the middle. */
export type DrawnGlyph =
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
export function drawnGlyph(character: string): DrawnGlyph | undefined {
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
