import type { Screen } from "../session/screen.ts";

/**
 * Renders what a terminal shows after some output, with a headless xterm, loaded only here: most runs never
 * need a screen.
 */
export async function renderScreen(
  chunks: readonly Uint8Array[],
  size: { readonly rows: number; readonly cols: number },
): Promise<Screen> {
  const { default: { Terminal } } = await import("@xterm/headless");
  const terminal = new Terminal({ ...size, allowProposedApi: true, scrollback: 0 });
  for (const chunk of chunks) terminal.write(chunk);
  await new Promise<void>((done) => terminal.write("", done));
  const { active } = terminal.buffer;
  const lines = Array.from(
    { length: size.rows },
    (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? "",
  );
  const cursor = { row: active.cursorY + 1, col: active.cursorX + 1 };
  terminal.dispose();
  return { lines, cursor };
}
