import { closeFd, readFd } from "../../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../../../ffi/descriptors/pipe.ts";
import { LibcError } from "../../../../ffi/errno.ts";
import type { FolderWatch } from "../../../../ffi/files/folder_watch.ts";
import { statProcFd } from "../../../../ffi/processes/proc.ts";
import { SHELL_FOLDER } from "../../../sandbox/child/split_shell.ts";
import { readProcessStat } from "../../../sandbox/processes/process_stat.ts";

/** A shell that waits to be let go. */
export interface StreamCall {
  readonly pid: number;
  /** What its stdout is, by device and inode. */
  readonly inode: string;
}

/** Most bytes of one read, and the longest line that can be a pid. */
const MAX_READ = 4096;
const MAX_LINE = 16;
/** How often a shell is looked at that is not ready: others of the child's processes have a pipe as their stdout for good. */
const MOST_LOOKS = 2500;

/** The folder in which shells open their stderr, and the FIFO on which they announce themselves. */
export class StreamCalls implements Disposable {
  readonly fd: number;
  readonly #dir: string;
  readonly #buffer = new Uint8Array(MAX_READ);
  #partial = "";
  /** Pids of shells that are not ready, and how often they were looked at. */
  readonly #awaited = new Map<number, number>();

  constructor(dir: string, { watch }: { readonly watch: FolderWatch | undefined }) {
    this.#dir = dir;
    Deno.mkdirSync(dir, { recursive: true, mode: 0o700 });
    for (const name of [SHELL_FOLDER.calls, SHELL_FOLDER.idle]) makeFifo(`${dir}/${name}`);
    this.fd = openFifo(`${dir}/${SHELL_FOLDER.calls}`);
    watch?.add(dir);
  }

  /** Whether a shell has announced itself and is not ready yet: the FIFO is its stdout as long as it does so. */
  get isAwaited(): boolean {
    return this.#awaited.size > 0;
  }

  /** The shells that a process has started and that have announced themselves; other lines are left out. */
  take(parent: number): readonly StreamCall[] {
    const pids = new Map([...this.#announced().map((pid) => [pid, 0] as const), ...this.#awaited]);
    this.#awaited.clear();
    return [...pids].flatMap(([pid, looks]) => {
      if (readProcessStat(pid)?.parent !== parent) return [];
      try {
        const { kind, id: inode } = statProcFd(pid, 1);
        if (kind === "file") return [{ pid, inode }];
        if (kind === "pipe" && looks < MOST_LOOKS) this.#awaited.set(pid, looks + 1);
      } catch (error) {
        // It has ended meanwhile.
        if (!(error instanceof LibcError)) throw error;
      }
      return [];
    });
  }

  /** Lets a shell begin. */
  letGo(pid: number): void {
    this.#quietly(() =>
      Deno.openSync(`${this.#dir}/${pid}${SHELL_FOLDER.go}`, { createNew: true, write: true })
        .close()
    );
  }

  /** Removes what a shell has left. */
  forget(pid: number): void {
    this.#quietly(() => Deno.removeSync(`${this.#dir}/${pid}${SHELL_FOLDER.go}`));
  }

  [Symbol.dispose](): void {
    closeFd(this.fd);
  }

  #announced(): readonly number[] {
    const count = readFd(this.fd, this.#buffer);
    if (typeof count !== "number") return [];
    const text = this.#partial + new TextDecoder().decode(this.#buffer.subarray(0, count));
    const lines = text.split("\n");
    const partial = lines.pop() ?? "";
    this.#partial = partial.length > MAX_LINE ? "" : partial;
    return lines.filter((line) => /^[1-9]\d{0,9}$/u.test(line)).map(Number);
  }

  /** A tool may have put something there, or removed it. */
  #quietly(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
  }
}
