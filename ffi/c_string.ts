const encoder = new TextEncoder();

/**
 * `text` as a NUL-terminated UTF-8 string.
 *
 * @throws TypeError when `text` holds a NUL, which would silently cut it short.
 */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  if (text.includes("\0")) {
    throw new TypeError(`Cannot pass ${JSON.stringify(shorten(text))} to libc: it holds a NUL`);
  }
  return encoder.encode(`${text}\0`);
}

/**
 * `texts` as a NULL-terminated `char *[]`.
 *
 * The strings lie behind the pointers in the same buffer, so they live as long as the array that
 * points to them. The buffer is made as an ArrayBuffer because a small typed array may lie in V8's
 * heap, where it can move.
 */
export function cStringArray(texts: readonly string[]): Uint8Array<ArrayBuffer> {
  const strings = texts.map(cString);
  const pointersLength = (strings.length + 1) * BigUint64Array.BYTES_PER_ELEMENT;
  const length = strings.reduce((sum, string) => sum + string.length, pointersLength);
  const bytes = new Uint8Array(new ArrayBuffer(length));
  const pointers = new BigUint64Array(bytes.buffer, 0, strings.length + 1);
  const base = Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes));
  let offset = pointersLength;
  for (const [index, string] of strings.entries()) {
    bytes.set(string, offset);
    pointers[index] = base + BigInt(offset);
    offset += string.length;
  }
  return bytes;
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
