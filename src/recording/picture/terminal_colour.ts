/** What a picture's text and its background are drawn in unless something else is asked for. */
export const INK = "#d4d7de";
export const GROUND = "#14171f";

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
