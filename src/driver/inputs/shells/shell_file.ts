import { RegularFile, UnfitFileError } from "../../../../ffi/files/regular_file.ts";

/** A text of a shell's output, and its stream, if known. */
export interface WrittenText {
  readonly text: string;
  readonly stream?: ShellStream;
}

/** The file to which a shell of the tool Bash writes, read while it grows. */
export class ShellFile implements Disposable {
  readonly #file: RegularFile;
  /** One decoder for each stream, because the bytes of a character come from one stream. */
  readonly #decoders = new Map<ShellStream | undefined, TextDecoder>();
  #position = 0;
  #read = 0;

  /**
   * @throws {UnfitFileError} when it is not a regular file, or cannot be opened
   * @throws {Deno.errors.NotFound} when there is none
   */
  constructor(path: string) {
    this.#file = new RegularFile(path);
  }

  /** Device and inode. */
  get inode(): string {
    return this.#file.id;
  }

  /** The current size of the file, in bytes. */
  get size(): number {
    return this.#file.size;
  }

  /** The number of bytes that have been read. */
  get read(): number {
    return this.#read;
  }

  /**
   * Reads the next texts, and returns whether the end was reached. The bytes of an incomplete character are kept.
   *
   * @param buffer the buffer of one read
   * @param parts the parts of the file and their streams: bytes after the last part are not read. Without it, all bytes
   * are read, without a stream
   */
  next(
    buffer: Uint8Array<ArrayBuffer>,
    parts?: readonly WrittenPart[],
  ): { readonly texts: readonly WrittenText[]; readonly ended: boolean } {
    try {
      // A command with "> /dev/stdout" truncates the file, and then writes from its start.
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

  /** The ends of lines between two positions, only in the first `MOST_LOOKED_AT` bytes. */
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

  /** The incomplete characters at the end, as U+FFFD. */
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
/** The maximum number of bytes in which lines are counted. */
const MOST_LOOKED_AT = 64 * 1024;

function written(text: string, stream: ShellStream | undefined): WrittenText {
  return stream === undefined ? { text } : { text, stream };
}

function endOf(parts: readonly WrittenPart[]): number {
  return parts.at(-1)?.end ?? 0;
}

/** The output to which a command has written. */
export type ShellStream = "stdout" | "stderr";

/** A part of a file: its end, and its stream, if known. */
export interface WrittenPart {
  readonly end: number;
  readonly stream?: ShellStream;
}

/** The positions of two streams that append to one file. */
export interface StreamPositions {
  /** The end of the last attributed part. */
  readonly from: number;
  /** The size of the file, in bytes. */
  readonly size: number;
  /** The end of the last write of each stream. */
  readonly stdout: number;
  readonly stderr: number;
  /** The streams that have written since `from`, in order; undefined if events were lost. */
  readonly runs?: readonly ShellStream[] | undefined;
  /** Returns the ends of lines from `from` to a position. */
  readonly lineEnds: (to: number) => readonly number[];
}

/**
 * Attributes appended output to two streams.
 *
 * If only one stream has written, all output belongs to it. If both have, the stream that wrote last has written all
 * output after the last write of the other. Earlier bytes are attributed if each stream wrote once, or if there are as
 * many turns as lines; otherwise they have no stream.
 */
export function attributeParts(since: StreamPositions): readonly WrittenPart[] {
  const { from, size, stdout, stderr, runs } = since;
  if (size <= from) return [];
  const turns = runs?.filter((stream, index) => stream !== runs[index - 1]);
  const [only, ...others] = turns ?? (stderr <= from ? ["stdout" as const] : ["stderr" as const]);
  const isOne = turns === undefined ? Math.min(stdout, stderr) <= from : others.length === 0;
  if (isOne && only !== undefined) return [{ end: size, stream: only }];
  const middle = Math.min(stdout, stderr);
  // If not, a process has opened the file a third time, for example with "> /dev/stderr".
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

/** Attributes the bytes up to a position to the streams that have written, in order. */
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
