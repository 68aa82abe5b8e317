import { RegularFile, UnfitFileError } from "../../../../ffi/files/regular_file.ts";

/** A text that was written to one of the two outputs of a shell; absent where both are one. */
export interface WrittenText {
  readonly text: string;
  readonly stream?: ShellStream;
}

/** The file into which a shell of the tool Bash writes, read as it grows. */
export class ShellFile implements Disposable {
  readonly #file: RegularFile;
  /** One for each stream: a character is written to one of them. */
  readonly #decoders = new Map<ShellStream | undefined, TextDecoder>();
  #position = 0;
  #read = 0;

  /**
   * @throws {UnfitFileError} when it is no regular file, or cannot be opened
   * @throws {Deno.errors.NotFound} when there is none
   */
  constructor(path: string) {
    this.#file = new RegularFile(path);
  }

  /** Device and inode. */
  get inode(): string {
    return this.#file.id;
  }

  /** How large it is now, in bytes. */
  get size(): number {
    return this.#file.size;
  }

  /** How many bytes have been read so far. */
  get read(): number {
    return this.#read;
  }

  /**
   * The texts that follow, and whether there was nothing more to read. A character of which only a part has been written
   * is kept for the next time.
   *
   * @param buffer takes the bytes, as many as are read at once
   * @param parts whose they are, by where they end; what is not among them is not read. Absent where all is one
   */
  next(
    buffer: Uint8Array<ArrayBuffer>,
    parts?: readonly WrittenPart[],
  ): { readonly texts: readonly WrittenText[]; readonly ended: boolean } {
    try {
      // "> /dev/stdout" empties the file, and what is written then begins anew.
      if (this.#file.size < this.#position) this.#position = 0;
      const from = this.#position;
      const to = Math.min(from + buffer.length, parts === undefined ? Infinity : endOf(parts));
      const room = buffer.subarray(0, Math.max(0, to - from));
      const count = room.length === 0 ? 0 : this.#file.read(room, from);
      this.#position += count;
      this.#read += count;
      const whole = [{ end: from + count }];
      const texts = this.#textsOf(room.subarray(0, count), { from, parts: parts ?? whole });
      return { texts, ended: count < buffer.length };
    } catch (error) {
      if (error instanceof UnfitFileError) return { texts: [], ended: true };
      throw error;
    }
  }

  /** Where lines end between two bytes; of very much only the first ones. */
  lineEnds(from: number, to: number): readonly number[] {
    const bytes = new Uint8Array(Math.min(to - from, MOST_LOOKED_AT));
    try {
      const count = this.#file.read(bytes, from);
      return [...bytes.subarray(0, count).entries()]
        .filter(([, byte]) => byte === NEWLINE).map(([index]) => from + index + 1);
    } catch (error) {
      if (error instanceof UnfitFileError) return [];
      throw error;
    }
  }

  /** What is left of characters that were never completed: U+FFFD, or nothing. */
  rest(): readonly WrittenText[] {
    return [...this.#decoders].map(([stream, decoder]) => written(decoder.decode(), stream))
      .filter(({ text }) => text !== "");
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }

  #textsOf(
    bytes: Uint8Array<ArrayBuffer>,
    { from, parts }: { readonly from: number; readonly parts: readonly WrittenPart[] },
  ): readonly WrittenText[] {
    const texts: WrittenText[] = [];
    let at = 0;
    for (const { end, stream } of parts) {
      const part = bytes.subarray(at, Math.max(at, end - from));
      at += part.length;
      const text = this.#decoderOf(stream).decode(part, { stream: true });
      if (text !== "") texts.push(written(text, stream));
    }
    return texts;
  }

  #decoderOf(stream: ShellStream | undefined): TextDecoder {
    const known = this.#decoders.get(stream);
    if (known !== undefined) return known;
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    this.#decoders.set(stream, decoder);
    return decoder;
  }
}

const NEWLINE = 0x0a;
/** Most bytes in which lines are counted. */
const MOST_LOOKED_AT = 64 * 1024;

function written(text: string, stream: ShellStream | undefined): WrittenText {
  return stream === undefined ? { text } : { text, stream };
}

function endOf(parts: readonly WrittenPart[]): number {
  return parts.at(-1)?.end ?? 0;
}

/** Which of its two outputs a command has written to. */
export type ShellStream = "stdout" | "stderr";

/** A part of a file, up to a byte, and which stream it is of; absent where that cannot be told. */
export interface WrittenPart {
  readonly end: number;
  readonly stream?: ShellStream;
}

/** What is known of a file that two streams append to. */
export interface StreamPositions {
  /** Up to where it is known whose it is. */
  readonly from: number;
  /** How large it is. */
  readonly size: number;
  /** Where the last write of each has ended, as long as that is not before `from`. */
  readonly stdout: number;
  readonly stderr: number;
  /** Which of them has written since, in order; absent where that is not known. */
  readonly runs?: readonly ShellStream[] | undefined;
  /** Where lines end from `from` to a byte. */
  readonly lineEnds: (to: number) => readonly number[];
}

/**
 * Tells which part of what two streams have appended to a file is whose.
 *
 * What only one of them has written is its own. Of both, the one that wrote last has written all behind the last write of
 * the other. What is before that is known where each had one turn, or as many turns as there are lines; it is left open
 * otherwise.
 */
export function attributeParts(since: StreamPositions): readonly WrittenPart[] {
  const { from, size, stdout, stderr, runs } = since;
  if (size <= from) return [];
  const turns = runs?.filter((stream, index) => stream !== runs[index - 1]);
  const [only, ...others] = turns ?? (stderr <= from ? ["stdout" as const] : ["stderr" as const]);
  const isOne = turns === undefined ? Math.min(stdout, stderr) <= from : others.length === 0;
  if (isOne && only !== undefined) return [{ end: size, stream: only }];
  const middle = Math.min(stdout, stderr);
  // Otherwise somebody has opened the file a third time, as "> /dev/stderr" does.
  if (Math.max(stdout, stderr) === size && middle > from) {
    const last: ShellStream = stdout > stderr ? "stdout" : "stderr";
    const isKnown = turns?.at(-1) === last;
    const before = attributeTurns(since, {
      turns: isKnown ? turns.slice(0, -1) : undefined,
      to: middle,
    });
    return [...before, { end: size, stream: last }];
  }
  return attributeTurns(since, { turns, to: size });
}

/** What was written in some turns. */
function attributeTurns(
  { lineEnds }: StreamPositions,
  { turns, to }: { readonly turns: readonly ShellStream[] | undefined; readonly to: number },
): readonly WrittenPart[] {
  const [only, ...others] = turns ?? [];
  if (only !== undefined && others.length === 0) return [{ end: to, stream: only }];
  const ends = turns === undefined ? [] : lineEnds(to);
  const isLineEach = ends.length === turns?.length && ends.at(-1) === to;
  return turns !== undefined && isLineEach
    ? turns.map((stream, index) => ({ end: ends[index] ?? to, stream }))
    : [{ end: to }];
}
