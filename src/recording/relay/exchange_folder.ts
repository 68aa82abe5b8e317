import { readRegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { leadsOut } from "../../../ffi/files/leads_out.ts";
import { CliError } from "../../cli_error.ts";
import { encodePieces, type Exchange, parseExchange, parseUnfinished } from "./exchange.ts";
import { entryAt, fileAt, namesIn } from "../../../ffi/files/at_path.ts";

/** An exchange and the name of its file. */
export interface FiledExchange {
  readonly name: string;
  readonly exchange: Exchange;
}

/** The largest file of an exchange that is read, and so that is written, in bytes. */
export const MAX_FILE = 256 * 1024 * 1024;

/** What the file of an exchange is called; others are none of ours. */
const FILE = /^[\da-f]{16}-\d+\.json$/u;
/** What that of one is called as long as it is under way. */
const UNFINISHED = /^[\da-f]{16}-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\.part$/u;

/**
 * Reads all exchanges of a folder, one after the other, by their names; there are none where there is no folder. Of one
 * whose writer was killed there is what had come of it, as one that has broken off.
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
  const parts = names.filter((name) => UNFINISHED.test(name)).toSorted();
  for (const path of [folder, ...[...recorded, ...parts].map((name) => `${folder}/${name}`)]) {
    if (!leadsOut(path)) continue;
    throw new CliError(`Cannot read ${path}: the link leads out of the cassette`, {
      suggestion: "Name the cassette that it leads to, or put in its place what it leads to",
    });
  }
  const whole = new Set<string>();
  for (const name of recorded) {
    const exchange = readNamed(`${folder}/${name}`, parseExchange);
    if (parts.length > 0) whole.add(`${name.slice(0, KEY)} ${exchange.at}`);
    yield { name, exchange };
  }
  for (const name of parts) {
    const exchange = readNamed(`${folder}/${name}`, parseUnfinished);
    // Its writer may have been killed once all of it was written.
    const isLeft = exchange === undefined || whole.has(`${name.slice(0, KEY)} ${exchange.at}`);
    if (!isLeft) yield { name, exchange };
  }
}

/** How much of its key is in the name of an exchange's file. */
const KEY = 16;

/** Reads one that is there by its name, whatever that is. */
function readNamed<Read>(path: string, parse: (text: string, path: string) => Read): Read {
  try {
    return parse(textOf(path), path);
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
  const text = textOf(path);
  const exchange = path.endsWith(".part") ? parseUnfinished(text, path) : parseExchange(text, path);
  if (exchange === undefined) throw new Deno.errors.NotFound(`Nothing is in ${path}`);
  return exchange;
}

function textOf(path: string): string {
  return decoder.decode(readRegularFile(path, { limit: MAX_FILE }));
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
  options: { readonly exchange: Exchange; readonly key: string },
): string {
  return runToEnd(addExchangeInSteps(folder, options));
}

/**
 * Does the same a little at a time.
 *
 * @returns yields how many bytes it has written
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
      const name = nameOf(freeNumber((number) => isThere(`${folder}/${nameOf(number)}`)));
      // Somebody may have been quicker.
      if (linkIfFree(part.path, `${folder}/${name}`)) return name;
    }
  } catch (cause) {
    throw writeError(cause);
  }
}

const encoder = new TextEncoder();

/** So many characters are written at once. */
const STEP = 64 * 1024;

/** A number that is not taken, mostly the first: there may be very many exchanges of one key. */
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

function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Why an exchange could not be written. */
export function writeError(cause: unknown): CliError {
  return new CliError(`Cannot write the exchange: ${(cause as Error).message}`, {
    suggestion: "Give it a folder of yours on a disk with room",
    cause,
  });
}

/** A file that is being written, and has no name of its own yet. */
export interface TempFile extends Disposable {
  readonly path: string;
  readonly file: Deno.FsFile;
  /** Closes the file: from then on it counts as one that nobody writes any more. */
  readonly close: () => void;
}

/** What such a file is called. */
const TEMP_NAME = /^\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/u;

/**
 * Makes a file for something that is to be there as a whole or not at all. It is locked as long as somebody writes it, and
 * removed when it is disposed of.
 *
 * @param options.mode its permissions, less those that the umask takes; 0600 by default
 * @throws {Error} when it cannot be made
 */
export function createTempFile(
  folder: string,
  { mode = 0o600 }: { readonly mode?: number } = {},
): TempFile {
  for (;;) {
    const path = `${folder}/.${crypto.randomUUID()}`;
    const file = Deno.openSync(path, { write: true, createNew: true, mode });
    lock(file);
    // Before it was locked, somebody may have taken it for one that nobody writes any more.
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
        removeIfThere(path);
      },
    };
  }
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Where files cannot be locked, nobody removes one of another program's. */
function lock(file: Deno.FsFile): void {
  try {
    file.lockSync(true);
  } catch {
    // It is written all the same.
  }
}

/** Removes what programs have left that were killed while they wrote; what is being written stays. */
export function removeStaleTempFiles(folder: string): void {
  for (const name of namesIn(folder).filter((name) => TEMP_NAME.test(name))) {
    const path = `${folder}/${name}`;
    try {
      if (!Deno.lstatSync(path).isFile) continue;
      using file = Deno.openSync(path, { read: true, write: true });
      if (file.tryLockSync(true)) Deno.removeSync(path);
    } catch {
      // It is gone by now, somebody else's, or cannot be locked.
    }
  }
}

/** Gives a file another name; false where something has that already. */
export function linkIfFree(from: string, to: string): boolean {
  try {
    Deno.linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}

/** Does at once all of some work that can be done a little at a time. */
export function runToEnd<Made>(steps: Iterator<number, Made>): Made {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The cassette of a further Claude Code, in the folder of the first one of its conversation. */
const LATER_CHILD = /^(.*)\/([2-9]|[1-9]\d+)$/u;

/**
 * The folder in which the exchanges of a cassette are: its own, unless it is that of a further Claude Code in a
 * conversation, whose exchanges are with those of the first one.
 */
export function apiFolder(cassette: string): string {
  const own = `${cassette}/api`;
  if (fileAt(own)?.isDirectory === true) return own;
  const first = laterChildOf(cassette)?.first;
  return first === undefined ? own : `${first}/api`;
}

/** Which Claude Code of a conversation a cassette is of, and that of the first one; nothing where it may be that itself. */
export function laterChildOf(
  cassette: string,
): { readonly first: string; readonly number: number } | undefined {
  const [, first, number] = LATER_CHILD.exec(realPath(cassette) ?? "") ?? [];
  // A folder of that name may be below any folder `api`.
  const isFurther = first !== undefined && fileAt(`${first}/api`)?.isDirectory === true &&
    ["child.cast", "tape.jsonl"].some((part) => entryAt(`${first}/${part}`)?.isFile === true);
  return isFurther ? { first, number: Number(number) } : undefined;
}

function realPath(path: string): string | undefined {
  try {
    return Deno.realPathSync(path);
  } catch {
    return undefined;
  }
}
