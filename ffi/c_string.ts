const encoder = new TextEncoder();

/** Lone surrogates from U+DC80 to U+DCFF represent the bytes 80 to FF, as in PEP 383. */
const ESCAPED_BYTE = /([\uDC80-\uDCFF])/u;
const ESCAPE = 0xdc00;

/** Bytes that are not UTF-8 as a text that `cString` turns into the same bytes again. */
export function escapedText(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => String.fromCharCode(byte < 0x80 ? byte : ESCAPE + byte))
    .join("");
}

/**
 * `text` as a NUL-terminated UTF-8 string. Bytes that `escapedText` escaped are restored.
 *
 * @throws TypeError when `text` holds a NUL, which would silently cut it short.
 */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  if (text.includes("\0")) {
    throw new TypeError(`Cannot pass ${JSON.stringify(shorten(text))} to libc: it holds a NUL`);
  }
  if (text.isWellFormed()) return encoder.encode(`${text}\0`);
  return Uint8Array.from(
    `${text}\0`.split(ESCAPED_BYTE).flatMap((part) =>
      ESCAPED_BYTE.test(part) ? [part.charCodeAt(0) - ESCAPE] : [...encoder.encode(part)]
    ),
  );
}

/**
 * `texts` as a NULL-terminated `char *[]`.
 *
 * The strings are in the same buffer, after the pointers, so they live as long as the array that points to them. The
 * buffer is an explicit ArrayBuffer, because a small typed array may be in V8's heap, where it can move.
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
