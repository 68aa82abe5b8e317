import { HeadlessTerminal } from "../../conversation/terminal/headless_terminal.ts";
import { CELL, drawRow } from "./draw_row.ts";
import type { TextStyle } from "./picture_row.ts";
import { styleRule, TEXT_RULE } from "./style_rule.ts";
import { GROUND } from "./terminal_colour.ts";
import { terminalRows } from "./terminal_rows.ts";

/** Work that one picture is given, in units of some 10 ns. */
const MOST_WORK = 20_000_000;

/** Draws what a terminal shows after some output as an SVG that stands still: no script, nothing loaded. */
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
    `<rect width="100%" height="100%" fill="${GROUND}"/>\n${rows.join("")}</svg>\n`;
}
