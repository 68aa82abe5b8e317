import { readRegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { linksOutside } from "../../../ffi/files/at_path.ts";
import { CliError } from "../../cli_error.ts";
import { encodePieces, type Exchange, parseExchange, parseUnfinished } from "./exchange.ts";
import { entryAt, fileAt, namesIn, tryRemove } from "../../../ffi/files/at_path.ts";
import { realPath } from "../../paths.ts";

export interface FiledExchange {
  readonly name: string;
  readonly exchange: Exchange;
}

/** The maximum size of a file that is read or written, in bytes. */
export const MAX_FILE = 256 * 1024 * 1024;

/** The name of an exchange's file. Other files are ignored. */
const FILE = /^[\da-f]{16}-\d+\.json$/u;
/** The file name of an unfinished exchange. */
const UNFINISHED = /^[\da-f]{16}-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\.part$/u;

/**
 * Reads all exchanges of a folder by their names; none if the folder does not exist. If the writer of an exchange was
 * killed, the written part is read.
 *
 * @throws {CliError} when an exchange cannot be read; a broken file is an error and not a miss
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
  const parts = names.filter((name) => UNFINISHED.test(name)).toSorted();
  for (const path of [folder, ...[...recorded, ...parts].map((name) => `${folder}/${name}`)]) {
    if (!linksOutside(path)) continue;
    throw new CliError(`Cannot read ${path}: the link leads out of the cassette`, {
      suggestion: "Name the cassette that it leads to, or put in its place what it leads to",
    });
  }
  const complete = new Set<string>();
  for (const name of recorded) {
    const exchange = readNamed(`${folder}/${name}`, parseExchange);
    if (parts.length > 0) complete.add(`${name.slice(0, KEY)} ${exchange.at}`);
    yield { name, exchange };
  }
  for (const name of parts) {
    const exchange = readNamed(`${folder}/${name}`, parseUnfinished);
    // The writer may have been killed after it wrote the complete file.
    const isLeftover = exchange === undefined ||
      complete.has(`${name.slice(0, KEY)} ${exchange.at}`);
    if (!isLeftover) yield { name, exchange };
  }
}

/** The number of digits of the key in the name of a file. */
const KEY = 16;

/** Reads a file that the folder lists. An unreadable file is an error. */
function readNamed<Read>(path: string, parse: (text: string, path: string) => Read): Read {
  try {
    return parse(readText(path), path);
  } catch (cause) {
    const isUnfit = cause instanceof UnfitFileError;
    if (!isUnfit && !(cause instanceof Deno.errors.NotFound)) throw cause;
    const why = isUnfit ? cause.reason : "the link leads nowhere";
    throw new CliError(`Cannot read the exchange ${path}: ${why}`, {
      suggestion: "Restore the file, or remove it and record it again",
      cause,
    });
  }
}

/**
 * Reads one exchange.
 *
 * @throws {CliError} when the file is no exchange
 * @throws {UnfitFileError} when it is not a regular file, or too large
 * @throws {Deno.errors.NotFound} when the path does not exist
 */
export function readExchange(path: string): Exchange {
  const text = readText(path);
  const exchange = path.endsWith(".part") ? parseUnfinished(text, path) : parseExchange(text, path);
  if (exchange === undefined) throw new Deno.errors.NotFound(`Nothing is in ${path}`);
  return exchange;
}

function readText(path: string): string {
  return decoder.decode(readRegularFile(path, { limit: MAX_FILE }));
}

const decoder = new TextDecoder();

/**
 * Adds an exchange to a folder. Its file appears complete or not at all, even if several programs write at the same
 * time.
 *
 * @param options.key the key of the request, in hexadecimal digits
 * @returns the name of the file
 * @throws {CliError} when the file cannot be written
 */
export function addExchange(
  folder: string,
  options: { readonly exchange: Exchange; readonly key: string },
): string {
  return runToEnd(addExchangeInSteps(folder, options));
}

/**
 * Adds an exchange to a folder in steps.
 *
 * @returns yields how many bytes each step has written
 */
export function* addExchangeInSteps(
  folder: string,
  { exchange, key }: { readonly exchange: Exchange; readonly key: string },
): Generator<number, string> {
  try {
    Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
    using part = createTempFile(folder);
    let size = 0;
    const write = (text: string) => {
      const bytes = encoder.encode(text);
      size += bytes.length;
      if (size > MAX_FILE) throw new Error("it is larger than one that can be read again");
      for (let at = 0; at < bytes.length;) at += part.file.writeSync(bytes.subarray(at));
      return bytes.length;
    };
    let text = "";
    for (const piece of encodePieces(exchange)) {
      text += piece;
      if (text.length < STEP) continue;
      yield write(text);
      text = "";
    }
    write(text);
    const nameOf = (number: number) => `${key.slice(0, KEY)}-${number}.json`;
    for (;;) {
      const name = nameOf(
        freeNumber((number) => entryAt(`${folder}/${nameOf(number)}`) !== undefined),
      );
      // Another writer may have taken the name.
      if (linkIfFree(part.path, `${folder}/${name}`)) return name;
    }
  } catch (cause) {
    throw writeError(cause);
  }
}

const encoder = new TextEncoder();

/** The number of characters that are written in one step. */
const STEP = 64 * 1024;

/** Returns the lowest free number by binary search. It is usually 0, but one key may have very many exchanges. */
function freeNumber(isTaken: (number: number) => boolean): number {
  let high = 0;
  let low = -1;
  while (isTaken(high)) {
    low = high;
    high = 2 * high + 1;
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (isTaken(middle)) low = middle;
    else high = middle;
  }
  return high;
}

/** The error for an exchange that could not be written. */
export function writeError(cause: unknown): CliError {
  return new CliError(`Cannot write the exchange: ${(cause as Error).message}`, {
    suggestion: "Give it a folder of yours on a disk with room",
    cause,
  });
}

/** A file with a temporary name that is being written. */
export interface TempFile extends Disposable {
  readonly path: string;
  readonly file: Deno.FsFile;
  /** Closes the file, which releases its lock. */
  readonly close: () => void;
}

const TEMP_NAME = /^\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/u;

/**
 * Creates a file that must appear complete or not at all: write it, then link it to its name. It is locked while it is
 * written, and removed on disposal.
 *
 * @param options.mode its permissions before the umask; 0600 by default
 * @throws {Error} when it cannot be created
 */
export function createTempFile(
  folder: string,
  { mode = 0o600 }: { readonly mode?: number } = {},
): TempFile {
  for (;;) {
    const path = `${folder}/.${crypto.randomUUID()}`;
    const file = Deno.openSync(path, { write: true, createNew: true, mode });
    lock(file);
    // Another program may have removed the file as stale before this program locked it.
    if (file.statSync().nlink === 0) {
      file.close();
      continue;
    }
    let isOpen = true;
    const close = () => {
      if (isOpen) file.close();
      isOpen = false;
    };
    return {
      path,
      file,
      close,
      [Symbol.dispose]: () => {
        close();
        tryRemove(path);
      },
    };
  }
}

/** Locks a file. On a file system without locks, no program removes stale files. */
function lock(file: Deno.FsFile): void {
  try {
    file.lockSync(true);
  } catch {
    // The file is written without a lock.
  }
}

/** Removes temporary files whose writer was killed. A file that is being written is locked and stays. */
export function removeStaleTempFiles(folder: string): void {
  for (const name of namesIn(folder).filter((name) => TEMP_NAME.test(name))) {
    const path = `${folder}/${name}`;
    try {
      if (!Deno.lstatSync(path).isFile) continue;
      using file = Deno.openSync(path, { read: true, write: true });
      if (file.tryLockSync(true)) Deno.removeSync(path);
    } catch {
      // The file is missing, belongs to another user, or cannot be locked.
    }
  }
}

/** Links a file to a name. Returns false if the name is taken. */
export function linkIfFree(from: string, to: string): boolean {
  try {
    Deno.linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}

/** Runs a generator of steps to its end. */
export function runToEnd<Made>(steps: Iterator<number, Made>): Made {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** A cassette of a later child in a conversation: a numbered folder in the cassette of the first child. */
const LATER_CHILD = /^(.*)\/([2-9]|[1-9]\d+)$/u;

/** Returns the folder of a cassette's exchanges. A later child of a conversation uses the folder of the first child. */
export function apiFolder(cassette: string): string {
  const own = `${cassette}/api`;
  if (fileAt(own)?.isDirectory === true) return own;
  const first = laterChildOf(cassette)?.first;
  return first === undefined ? own : `${first}/api`;
}

/**
 * Returns the number of a later child, and the cassette of the first child; undefined if the cassette is not of a
 * later child.
 */
export function laterChildOf(
  cassette: string,
): { readonly first: string; readonly number: number } | undefined {
  if (fileAt(cassette) === undefined) return undefined;
  const [, first, number] = LATER_CHILD.exec(realPath(cassette)) ?? [];
  // A numbered folder alone proves nothing, because any folder may contain one.
  const isLaterChild = first !== undefined && fileAt(`${first}/api`)?.isDirectory === true &&
    ["child.cast", "tape.jsonl"].some((part) => entryAt(`${first}/${part}`)?.isFile === true);
  return isLaterChild ? { first, number: Number(number) } : undefined;
}
