import { type Chunk, encodeChunk, encodeHead, type Exchange } from "./exchange.ts";
import { MAX_FILE, unwritten } from "./exchange_folder.ts";

/** The file of an exchange that is under way: whoever reads it finds one that has broken off. */
export interface BegunExchange {
  /** Adds what has come of the answer, as long as the file can be read again. */
  readonly add: (chunk: Chunk) => void;
  /** Nothing more comes. */
  readonly close: () => void;
  /** The exchange is written as a whole. */
  readonly remove: () => void;
}

/**
 * Begins to write an exchange while it is under way.
 *
 * @param options.exchange as much of it as is known
 * @throws {CliError} when it cannot be written
 */
export function beginExchange(
  folder: string,
  { exchange, key }: { readonly exchange: Exchange; readonly key: string },
): BegunExchange {
  const attempt = <Value>(act: () => Value): Value => {
    try {
      return act();
    } catch (cause) {
      throw unwritten(cause);
    }
  };
  const path = `${folder}/${key.slice(0, 16)}-${crypto.randomUUID()}.part`;
  const file = attempt(() => {
    Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
    return Deno.openSync(path, { append: true, createNew: true, mode: 0o600 });
  });
  let left = MAX_FILE;
  const write = (text: string) =>
    attempt(() => {
      const bytes = new TextEncoder().encode(text);
      left -= bytes.length;
      // What comes behind a piece that is left out is left out as well.
      if (left < 0) return;
      for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
    });
  write(encodeHead(exchange));
  return {
    add: (chunk) => write(encodeChunk(chunk)),
    close: () => file.close(),
    remove: () => attempt(() => Deno.removeSync(path)),
  };
}
