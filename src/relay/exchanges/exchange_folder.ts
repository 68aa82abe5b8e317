import { readRegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { leadsOut } from "../../../ffi/files/leads_out.ts";
import { CliError } from "../../cli_error.ts";
import { encodeExchange, type Exchange, parseExchange } from "./exchange.ts";
import { isLinked } from "./is_linked.ts";
import { createPart } from "./part_file.ts";

/** An exchange and the name of its file. */
export interface FiledExchange {
  readonly name: string;
  readonly exchange: Exchange;
}

/** The largest file of an exchange that is read, in bytes. */
const MAX_FILE = 256 * 1024 * 1024;

/** What the name of an exchange's file ends in; others are none of ours. */
const FILE = /^[\da-f]{16}-\d+\.json$/u;

/**
 * Reads all exchanges of a folder, one after the other, by their names; there are none where there is no folder.
 *
 * @throws {CliError} when one cannot be read: a broken file is no miss
 */
export function* readExchanges(folder: string): Generator<FiledExchange> {
  let names: readonly string[];
  try {
    names = Array.from(Deno.readDirSync(folder), ({ name }) => name);
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return;
    throw new CliError(`Cannot read ${folder}: ${(cause as Error).message}`, {
      suggestion: "Name the folder of a cassette, or a new one",
      cause,
    });
  }
  const recorded = names.filter((name) => FILE.test(name)).toSorted();
  for (const path of [folder, ...recorded.map((name) => `${folder}/${name}`)]) {
    if (!leadsOut(path)) continue;
    throw new CliError(`Cannot read ${path}: the link leads out of the cassette`, {
      suggestion: "Name the cassette that it leads to, or put in its place what it leads to",
    });
  }
  for (const name of recorded) yield { name, exchange: readListed(`${folder}/${name}`) };
}

/** Reads one that is there by its name, whatever that is. */
function readListed(path: string): Exchange {
  try {
    return readExchange(path);
  } catch (cause) {
    const isUnfit = cause instanceof UnfitFileError;
    if (!isUnfit && !(cause instanceof Deno.errors.NotFound)) throw cause;
    const why = isUnfit ? cause.reason : "there is nothing behind it";
    throw new CliError(`Cannot read the exchange ${path}: ${why}`, {
      suggestion: "Restore the file, or remove it and record it again",
      cause,
    });
  }
}

/**
 * Reads one exchange.
 *
 * @throws {CliError} when it is none
 * @throws {UnfitFileError} when something else than a file is there
 * @throws {Deno.errors.NotFound} when nothing is there
 */
export function readExchange(path: string): Exchange {
  return parseExchange(decoder.decode(readRegularFile(path, { limit: MAX_FILE })), path);
}

const decoder = new TextDecoder();

/**
 * Adds an exchange to a folder: a file of its own, there as a whole or not at all, whoever else adds some at the time.
 *
 * @param options.key what the request is known by, in hexadecimal digits
 * @returns the name of the file
 * @throws {CliError} when it cannot be written
 */
export function addExchange(
  folder: string,
  { exchange, key }: { readonly exchange: Exchange; readonly key: string },
): string {
  try {
    Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
    using part = createPart(folder);
    const bytes = new TextEncoder().encode(encodeExchange(exchange));
    for (let at = 0; at < bytes.length;) at += part.file.writeSync(bytes.subarray(at));
    for (let number = 0;; number++) {
      const name = `${key.slice(0, 16)}-${number}.json`;
      if (isLinked(part.path, `${folder}/${name}`)) return name;
    }
  } catch (cause) {
    throw new CliError(`Cannot write the exchange: ${(cause as Error).message}`, {
      suggestion: "Give it a folder of yours on a disk with room",
      cause,
    });
  }
}
