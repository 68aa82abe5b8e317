import xterm from "@xterm/headless";
import { screenOf } from "../../../src/session/terminal/headless_terminal.ts";
import type { Screen } from "../../../src/session/terminal/screen.ts";

/** A terminal in the middle of its output. */
export interface Moment {
  /** How many pieces have been written. */
  readonly written: number;
  /** The character that the cursor stands on. */
  readonly underCursor: string;
  /** All that is to be seen; reading it takes much longer than writing a piece. */
  readonly screen: () => Screen;
}

/** Writes pieces to a terminal, one after the other, with a look at it after each of them. */
export async function eachScreen(
  pieces: Iterable<string>,
  options: {
    readonly size: { readonly rows: number; readonly cols: number };
    readonly see: (moment: Moment) => void;
  },
): Promise<void> {
  const terminal = new xterm.Terminal({
    ...options.size,
    allowProposedApi: true,
    scrollback: 0,
  });
  const { active } = terminal.buffer;
  let written = 0;
  for (const piece of pieces) {
    terminal.write(piece, () => {
      written++;
      const row = active.getLine(active.baseY + active.cursorY);
      const underCursor = row?.getCell(active.cursorX)?.getChars() ?? "";
      options.see({ written, underCursor, screen: () => screenOf(terminal) });
    });
  }
  await new Promise<void>((done) => terminal.write("", done));
  terminal.dispose();
}
