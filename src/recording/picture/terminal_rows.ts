import type { HeadlessTerminal } from "../../conversation/terminal/headless_terminal.ts";
import type { PictureRow } from "./picture_row.ts";
import { terminalRow } from "./terminal_row.ts";

/** What a terminal shows, from the top, without blank rows at the end. */
export function terminalRows(terminal: HeadlessTerminal): readonly PictureRow[] {
  const { active } = terminal.buffer;
  const rows = Array.from({ length: terminal.rows }, (_, row) => {
    const line = active.getLine(active.baseY + row);
    const cursor = terminal.isCursorShown && row === active.cursorY ? active.cursorX : undefined;
    return line === undefined ? [] : terminalRow(line, { cursor });
  });
  return rows.slice(0, rows.findLastIndex((row) => row.length > 0) + 1);
}
