import { cString } from "../../../ffi/c_string.ts";
import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { libc } from "../../../ffi/libc.ts";
import { mostOpenFiles } from "../../../ffi/processes/most_open_files.ts";

/** How many files a run or a conversation has open, its connection among them, with some to spare. */
const OF_RUN = 32;

/** How many files are held back, at most and as a part of all that may be open. */
const MOST = 2 * OF_RUN;
const SHARE = 1 / 8;

const O_CLOEXEC = 0o2000000;

/**
 * The highest fd that may be in use before there are too many connections, whatever the system allows, where nothing else
 * takes files: one that asks for nothing takes some 4 kB of memory.
 */
const HIGHEST_FD = 16_384;

/**
 * Files that are open for nothing but to be closed: where connections have taken all that may be open, what is under way
 * still gets some.
 */
export class FileReserve implements Disposable {
  readonly #files: Deno.FsFile[] = [];
  readonly #size: number;
  readonly #runs: () => number;

  /** @param options.runs how many runs and conversations there are, whose files are none of connections */
  constructor({ runs }: { readonly runs: () => number }) {
    this.#runs = runs;
    this.#size = Math.min(MOST, Math.floor(mostOpenFiles() * SHARE));
    this.fill();
  }

  /** Whether there are so many files open that connections have to go; it says nothing of those that are held back. */
  get isCrowded(): boolean {
    // It is the lowest one that was free.
    const fd = libc().open(cString("/dev/null"), O_CLOEXEC);
    if (fd !== -1) closeFd(fd);
    return fd === -1 || fd > HIGHEST_FD + OF_RUN * this.#runs();
  }

  /** Holds back what is missing, and says whether all of it could be had. */
  fill(): boolean {
    try {
      while (this.#files.length < this.#size) this.#files.push(Deno.openSync("/dev/null"));
      return true;
    } catch {
      this.release();
      return false;
    }
  }

  /** Closes them all. */
  release(): void {
    for (const file of this.#files.splice(0)) file.close();
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
