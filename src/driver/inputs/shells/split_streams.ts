import { LibcError } from "../../../../ffi/errno.ts";
import { closeFd, fdStat, filePosition, readFd } from "../../../../ffi/descriptors/fd.ts";
import { shareFd } from "../../../../ffi/processes/process.ts";
import { SHELL_FOLDER } from "../../../sandbox/child/child_files.ts";
import {
  attributeParts,
  type ShellFile,
  type ShellStream,
  type WrittenPart,
} from "./shell_file.ts";
import { makeFifo, openFifo } from "../../../../ffi/descriptors/pipe.ts";
import type { FolderWatch } from "../../../../ffi/files/folder_watch.ts";
import { statProcFd } from "../../../../ffi/processes/proc.ts";
import { readProcessStat } from "../../../sandbox/run_processes.ts";

/** The maximum number of kept parts. The first parts have been read and are not needed any more. */
const MOST_PARTS = 10_000;

/** The maximum duration of a write, in milliseconds. On a busy machine, a process waits for the CPU. */
const UNDER_WAY_MS = 500;

/** The positions of a shell's streams in its file, in bytes. */
interface Positions {
  readonly stdout: number;
  readonly stderr: number;
  readonly size: number;
}

/**
 * Attributes the output of a shell to stdout and stderr.
 *
 * Both streams append to one file, each through its own open file. The position of an open file is the end of its last
 * write. The two were opened by different names, so the events of the watch show which of them was written to.
 */
export class SplitStreams implements Disposable {
  readonly pid: number;
  readonly #file: ShellFile;
  readonly #fds: readonly number[];
  /** The names by which the file was opened. */
  readonly #names: ReadonlyMap<string, ShellStream>;
  #parts: WrittenPart[] = [];
  #positions: Positions;
  #runs: readonly ShellStream[] | undefined = [];
  /** Since when a write has been under way. */
  #underWayAt: number | undefined;

  private constructor(
    pid: number,
    { file, name, fds }: {
      readonly file: ShellFile;
      readonly name: string;
      readonly fds: readonly number[];
    },
  ) {
    this.pid = pid;
    this.#file = file;
    this.#fds = fds;
    this.#names = new Map([[name, "stdout"], [`${pid}${SHELL_FOLDER.stderr}`, "stderr"]]);
    this.#positions = this.#ask();
  }

  /**
   * Duplicates stdout and stderr of a process.
   *
   * @param options.file the file that both must be
   * @param options.name the name by which Claude Code has opened it
   * @returns undefined if they are another file, or may not be duplicated
   */
  static of(
    pid: number,
    { file, name }: { readonly file: ShellFile; readonly name: string },
  ): SplitStreams | undefined {
    const fds: number[] = [];
    try {
      for (const fd of [1, 2]) fds.push(shareFd(pid, fd));
      if (fds.every((fd) => fdStat(fd).id === file.inode)) {
        return new SplitStreams(pid, { file, name, fds });
      }
    } catch (error) {
      if (!(error instanceof LibcError)) throw error;
    }
    for (const fd of fds) closeFd(fd);
    return undefined;
  }

  /** The parts of the file and their streams, if known. */
  get parts(): readonly WrittenPart[] {
    return this.#parts;
  }

  /** The end of the last part. */
  get end(): number {
    return this.#parts.at(-1)?.end ?? 0;
  }

  /** Reads the positions, before the events of the watch are read. */
  begin(): void {
    this.#positions = this.#ask();
  }

  /** Adds events of the watch: the names of written files; undefined if events were lost. */
  note(written: readonly string[] | undefined): void {
    const runs = written?.flatMap((name) => this.#names.get(name) ?? []);
    this.#runs = runs === undefined || this.#runs === undefined
      ? undefined
      : [...this.#runs, ...runs].filter((stream, index, all) => stream !== all[index - 1]);
  }

  /** Reads the positions again. Returns whether they are unchanged. */
  isStable(): boolean {
    const before = this.#positions;
    this.#positions = this.#ask();
    return before.size === this.#positions.size && before.stdout === this.#positions.stdout &&
      before.stderr === this.#positions.stderr;
  }

  /**
   * Attributes the output since the last call.
   *
   * @param options.at milliseconds on a clock that only goes forward
   * @param options.ended whether the shell has ended, so that nothing more is written
   */
  conclude({ at, ended }: { readonly at: number; readonly ended: boolean }): void {
    const { size, stdout, stderr } = this.#positions;
    // A file larger than both positions means that a write is unfinished: its event may be missing. A third open file
    // looks the same, so wait at most UNDER_WAY_MS.
    const isUnderWay = size > Math.max(stdout, stderr);
    if (!isUnderWay) this.#underWayAt = undefined;
    else this.#underWayAt ??= at;
    if (!ended && at < (this.#underWayAt ?? -Infinity) + UNDER_WAY_MS) return;
    // The command may have emptied the file.
    if (size < this.end) this.#parts = [];
    const from = this.end;
    if (size <= from) return;
    const parts = attributeParts({
      ...{ from, size, stdout, stderr, runs: this.#runs },
      lineEnds: (to) => this.#file.lineEnds(from, to),
    });
    this.#runs = [];
    for (const part of parts) {
      // A part that continues the previous part is merged with it.
      if (this.#parts.at(-1)?.stream === part.stream) this.#parts.pop();
      this.#parts.push(part);
    }
    if (this.#parts.length > MOST_PARTS) this.#parts.splice(0, this.#parts.length - MOST_PARTS);
  }

  [Symbol.dispose](): void {
    for (const fd of this.#fds) closeFd(fd);
  }

  #ask(): Positions {
    const [stdout = 0, stderr = 0] = this.#fds.map(filePosition);
    return { stdout, stderr, size: this.#file.size };
  }
}

/** A shell that waits for `release`. */
interface WaitingShell {
  readonly pid: number;
  /** The shell's stdout, by device and inode. */
  readonly inode: string;
}

/** The maximum number of bytes of a read, and the maximum length of a line that can be a pid. */
const MAX_READ = 4096;
const MAX_LINE = 16;
/**
 * The maximum number of checks of a shell whose stdout is a pipe. Other processes of the child always have a pipe
 * there.
 */
const MOST_LOOKS = 2500;

/** The folder in which shells open their stderr, and the FIFO to which they write when they start. */
export class WaitingShells implements Disposable {
  readonly fd: number;
  readonly #dir: string;
  readonly #buffer = new Uint8Array(MAX_READ);
  #partial = "";
  /** Pids of shells that are not ready, and how often they were checked. */
  readonly #awaited = new Map<number, number>();

  constructor(dir: string, { watch }: { readonly watch: FolderWatch | undefined }) {
    this.#dir = dir;
    Deno.mkdirSync(dir, { recursive: true, mode: 0o700 });
    for (const name of [SHELL_FOLDER.calls, SHELL_FOLDER.idle]) makeFifo(`${dir}/${name}`);
    this.fd = openFifo(`${dir}/${SHELL_FOLDER.calls}`);
    watch?.add(dir);
  }

  /** Whether an announced shell is not ready yet. While it writes its line, its stdout is the FIFO. */
  get isShellWaiting(): boolean {
    return this.#awaited.size > 0;
  }

  /** Takes the announced shells that are children of a process. Other lines are ignored. */
  take(parent: number): readonly WaitingShell[] {
    const pids = new Map([...this.#announced().map((pid) => [pid, 0] as const), ...this.#awaited]);
    this.#awaited.clear();
    return [...pids].flatMap(([pid, looks]) => {
      if (readProcessStat(pid)?.parent !== parent) return [];
      try {
        const { kind, id: inode } = statProcFd(pid, 1);
        if (kind === "file") return [{ pid, inode }];
        if (kind === "pipe" && looks < MOST_LOOKS) this.#awaited.set(pid, looks + 1);
      } catch (error) {
        // The process has ended in the meantime.
        if (!(error instanceof LibcError)) throw error;
      }
      return [];
    });
  }

  /** Lets a shell start its command. */
  release(pid: number): void {
    this.#quietly(() =>
      Deno.openSync(`${this.#dir}/${pid}${SHELL_FOLDER.go}`, { createNew: true, write: true })
        .close()
    );
  }

  /** Removes the file of a shell. */
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

  /** Ignores errors: a tool may have changed the folder. */
  #quietly(action: () => void): void {
    try {
      action();
    } catch (error) {
      if (!(error instanceof Error)) throw error;
    }
  }
}
