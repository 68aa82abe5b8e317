import type { HeadlessTerminal } from "../../session/terminal/headless_terminal.ts";
import type { Screen } from "../../session/terminal/screen.ts";

/** What a headless terminal shows. */
export function screenOf(terminal: Pick<HeadlessTerminal, "rows" | "buffer">): Screen {
  const { active } = terminal.buffer;
  return {
    lines: Array.from(
      { length: terminal.rows },
      (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "",
    ),
    cursor: { row: active.cursorY + 1, col: active.cursorX + 1 },
  };
}
