import { CliError } from "../cli_error.ts";

const REPLACEMENT = "\uFFFD";

/**
 * The text of a prompt's bytes, such that encoding it gives the same bytes again: a byte order mark
 * stays. `source` names where the bytes came from, as in "stdin" or "notes.md".
 *
 * @throws {CliError} for a NUL byte and for bytes that are not UTF-8, with the offset of the first
 */
export function decodePrompt(bytes: Uint8Array, source: string): string {
  const invalid = invalidOffset(bytes);
  const nul = bytes.indexOf(0);
  if (nul !== -1 && (invalid === undefined || nul < invalid)) {
    throw new CliError(`Cannot send ${source}: it holds a NUL byte at byte offset ${nul}`, {
      suggestion: "Send text; for a binary file name it in the prompt instead",
    });
  }
  if (invalid !== undefined) {
    throw new CliError(`Cannot send ${source}: it is not UTF-8 from byte offset ${invalid} on`, {
      suggestion: "Convert it with iconv -t UTF-8, or name the file in the prompt instead",
    });
  }
  return decode(bytes);
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** Where the first sequence that is not UTF-8 begins, in bytes. */
function invalidOffset(bytes: Uint8Array): number | undefined {
  // Up to the first replacement character that the bytes themselves do not hold, text and bytes agree.
  const text = decode(bytes);
  const encoder = new TextEncoder();
  let offset = 0;
  let from = 0;
  for (;;) {
    const found = text.indexOf(REPLACEMENT, from);
    if (found === -1) return undefined;
    offset += encoder.encode(text.slice(from, found)).length;
    const genuine = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf &&
      bytes[offset + 2] === 0xbd;
    if (!genuine) return offset;
    offset += 3;
    from = found + 1;
  }
}
