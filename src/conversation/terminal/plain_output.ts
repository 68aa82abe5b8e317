/** The most that Claude Code says before it ends, in bytes. */
const MOST = 8192;

/** What a terminal shows as it is: text, lines, colours, and the cursor that is there again. */
// deno-lint-ignore no-control-regex
const PLAIN = /\x1b\[(?:[\d;]*m|\?25h)|\r(?=\r?\n)/gu;
// deno-lint-ignore no-control-regex
const CONTROL = /[\x00-\x09\x0b-\x1f\x7f]/u;

/** What a child has written since its start; no more of it than is ever said in words. */
export function withWritten(before: Uint8Array, bytes: Uint8Array): Uint8Array {
  if (before.length >= MOST) return before;
  const written = new Uint8Array(before.length + bytes.length);
  written.set(before);
  written.set(bytes, before.length);
  return written;
}

/** What a child says that does not draw anything, without colours; undefined where it draws, or says nothing. */
export function plainOutput(written: Uint8Array): string | undefined {
  if (written.length >= MOST) return undefined;
  const text = new TextDecoder().decode(written).replace(PLAIN, "").trim();
  return text === "" || CONTROL.test(text) ? undefined : text;
}
