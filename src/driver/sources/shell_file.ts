import { RegularFile, UnfitFileError } from "../../../ffi/regular_file.ts";

/** The file into which a shell of the tool Bash writes, read as it grows. */
export class ShellFile implements Disposable {
  readonly #file: RegularFile;
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
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

  /** How many bytes have been read so far. */
  get read(): number {
    return this.#read;
  }

  /**
   * The text that follows, and whether there was nothing more to read. A character of which only a part has been written
   * is kept for the next time.
   *
   * @param buffer takes the bytes, as many as are read at once
   */
  next(buffer: Uint8Array<ArrayBuffer>): { readonly text: string; readonly ended: boolean } {
    try {
      // "> /dev/stdout" empties the file, and what is written then begins anew.
      if (this.#file.size < this.#position) this.#position = 0;
      const count = this.#file.read(buffer, this.#position);
      this.#position += count;
      this.#read += count;
      const text = this.#decoder.decode(buffer.subarray(0, count), { stream: true });
      return { text, ended: count < buffer.length };
    } catch (error) {
      if (error instanceof UnfitFileError) return { text: "", ended: true };
      throw error;
    }
  }

  /** What is left of a character that was never completed: U+FFFD, or nothing. */
  rest(): string {
    return this.#decoder.decode();
  }

  [Symbol.dispose](): void {
    this.#file[Symbol.dispose]();
  }
}
