import { loadTerminal } from "../session/load_terminal.ts";
import type { Screen } from "../session/screen.ts";
import { screenOf } from "./screen_of.ts";

/** Renders what a terminal shows after some output, with a headless xterm. */
export async function renderScreen(
  chunks: readonly Uint8Array[],
  size: { readonly rows: number; readonly cols: number },
): Promise<Screen> {
  const Terminal = await loadTerminal();
  const terminal = new Terminal({ ...size, allowProposedApi: true, scrollback: 0 });
  // Not left to xterm, whose decoder mixes up a character that is cut after its first byte.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  for (const chunk of chunks) terminal.write(decoder.decode(chunk, { stream: true }));
  await new Promise<void>((done) => terminal.write("", done));
  const screen = screenOf(terminal);
  terminal.dispose();
  return screen;
}
