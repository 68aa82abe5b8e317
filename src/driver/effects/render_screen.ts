import { HeadlessTerminal, screenOf } from "../../conversation/terminal/headless_terminal.ts";
import type { Screen } from "../../conversation/terminal/screen.ts";

/** Several times what all kept output of an honest child takes, and a fifth of a second. */
const MOST_WORK = 20_000_000;

/** Renders what a terminal shows after some output. */
export async function renderScreen(
  chunks: readonly Uint8Array[],
  size: { readonly rows: number; readonly cols: number },
): Promise<Screen> {
  using terminal = await HeadlessTerminal.open(size);
  await terminal.draw(chunks, { work: MOST_WORK });
  return screenOf(terminal);
}
