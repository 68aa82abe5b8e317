/** Turns bytes that arrive in any chunks into complete lines of text. */
export interface LineSplitter {
  /** Takes the next bytes and returns the lines they complete, in order, without their newline. */
  readonly push: (bytes: Uint8Array) => readonly string[];
  /** Returns the text after the last newline seen, decoded as far as it has come. */
  readonly remainder: () => string;
}

const NEWLINE = 0x0a;

/**
 * Creates a splitter for a stream of UTF-8 lines.
 *
 * Bytes are cut at newlines before they are decoded, so a character split between two chunks
 * survives. A byte order mark is kept, invalid UTF-8 becomes U+FFFD.
 */
export function createLineSplitter(): LineSplitter {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let pending: Uint8Array[] = [];

  const joined = (last?: Uint8Array): Uint8Array => {
    if (last !== undefined && pending.length === 0) return last;
    const parts = last === undefined ? pending : [...pending, last];
    const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
    let offset = 0;
    for (const part of parts) {
      whole.set(part, offset);
      offset += part.length;
    }
    return whole;
  };

  return {
    push: (bytes) => {
      const lines: string[] = [];
      let start = 0;
      for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
        lines.push(decoder.decode(joined(bytes.subarray(start, end))));
        pending = [];
        start = end + 1;
      }
      // A copy, because the caller may reuse its buffer.
      if (start < bytes.length) pending.push(bytes.slice(start));
      return lines;
    },
    remainder: () => decoder.decode(joined()),
  };
}
