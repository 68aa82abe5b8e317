import { LibcError } from "../../../../ffi/errno.ts";
import { FolderWatch } from "../../../../ffi/files/folder_watch.ts";
import { OpenFolder } from "../../../../ffi/files/open_folder.ts";
import type { Interest, Ready } from "../../../../ffi/descriptors/poll.ts";
import { UnfitFileError } from "../../../../ffi/files/regular_file.ts";
import type { Input, Untimed } from "../../../conversation/control/input.ts";
import { projectSlug } from "../../../claude/transcript/session_files.ts";
import { readShellCommands } from "./shell_commands.ts";
import { ShellFile, type WrittenText } from "./shell_file.ts";
import { SplitStreams, WaitingShells } from "./split_streams.ts";

/** An input about shells. */
export type ShellInput = Untimed<
  Extract<Input, { readonly type: "shell" | "shell-output" | "shell-over" }>
>;

/** The places to which the child's shells write. */
export interface ShellSourceOptions {
  /** The child's `CLAUDE_CODE_TMPDIR`. */
  readonly tempDir: string;
  readonly sessionId: string;
  /** The real path of the child's working directory. */
  readonly cwd: string;
  /** The maximum number of reported bytes of one shell; by default 64 MB. */
  readonly limit?: number;
  /** The folder of the streams, if stdout and stderr are reported separately. */
  readonly streamsDir?: string;
}

/** The circumstances of a look at the shells. */
export interface ShellLook {
  /** Milliseconds on a monotonic clock. */
  readonly at: number;
  /** The child's pid. */
  readonly child: number;
  /** Whether output is currently not read. Then the files of shells are not read either. */
  readonly paused?: boolean;
}

/**
 * How old a shell must be before it is reported, in milliseconds. Claude Code writes the transcript every 100 ms, so by
 * then the transcript holds the line of its call, and those of other calls of the same command.
 */
const SETTLED_MS = 200;
/** The maximum number of bytes that are reported before the call of a shell is known. */
const BEGINNING = 64 * 1024;
/** The maximum number of bytes of a read, so that a flood does not delay other inputs. */
const PORTION = 64 * 1024;
const LIMIT = 64_000_000;
/** The maximum number of open files, and of names in a folder, because tools can create any number. */
const MOST_FILES = 128;
const MOST_NAMES = 2000;
/** The names that Claude Code gives to the files of shells. */
const NAME = /^([\w-]{1,64})\.output$/u;
const MOST_KNOWN = 100_000;
/** The maximum number of times that positions are read again while a shell writes. */
const MOST_ATTEMPTS = 3;
/**
 * The interval of the search for new folders, in milliseconds. The child creates one only when it changes its working
 * directory.
 */
const FIND_MS = 500;
/** The interval at which folders are listed without an event of the watch, in milliseconds. */
const LOOK_MS = 500;
/** The intervals of the search for the process of a shell, in milliseconds: at first, and later. */
const SEARCH_MS = 5;
const SEARCH_AGAIN_MS = 200;

/** A shell whose file is open. */
interface TrackedShell {
  readonly id: string;
  readonly file: ShellFile;
  readonly folder: OpenFolder;
  readonly seenAt: number;
  /** The command of the shell's process, once found. */
  command?: string;
  /** Attributes the shell's output to stdout and stderr, if they are reported separately. */
  streams?: SplitStreams;
  /** Whether the shell's file was removed. Then Claude Code has read the output. */
  gone: boolean;
  told: boolean;
  followed: boolean;
  /** Whether only the rest of the output will be reported. */
  left: boolean;
  over: boolean;
}

/**
 * Follows the output of the shells of the tool Bash while they run.
 *
 * Claude Code gives each shell a file for stdout and stderr, `<id>.output` in a folder of the session. It removes the
 * file when a call that waited for its shell returns (2.1.330). Tools can also create files there. So a file counts
 * only in three cases: it is the stdout of a process that the child itself has started; it has been removed; or Claude
 * Code has named its id. Links are not followed, and only regular files are opened.
 */
export class ShellSource implements Disposable {
  readonly #options: ShellSourceOptions;
  readonly #watch: FolderWatch | undefined;
  /** Folders by their paths below the folder for temporary files. */
  readonly #folders = new Map<string, OpenFolder>();
  readonly #shells = new Map<string, TrackedShell>();
  /** Ids that are not examined again. */
  readonly #known = new Set<string>();
  readonly #calls: WaitingShells | undefined;
  /** Ids of shells that were finished but never found. */
  #unseen: readonly string[] = [];
  readonly #buffer = new Uint8Array(PORTION);
  #searchedAt = -Infinity;
  #foundAt = -Infinity;
  #lookedAt = -Infinity;
  #more = false;

  constructor(options: ShellSourceOptions) {
    this.#options = options;
    this.#watch = FolderWatch.open();
    this.#calls = options.streamsDir === undefined
      ? undefined
      : new WaitingShells(options.streamsDir, { watch: this.#watch });
    this.#makeFolder();
    this.findFolders();
  }

  /** The descriptors to poll. Folders that cannot be watched are listed every `LOOK_MS`. */
  get interests(): readonly Interest[] {
    return [
      ...(this.#watch === undefined ? [] : [{ fd: this.#watch.fd, read: true }]),
      ...(this.#calls === undefined ? [] : [{ fd: this.#calls.fd, read: true }]),
    ];
  }

  /** Whether a shell waits for this program before it starts. No descriptor announces that. */
  get isShellWaiting(): boolean {
    return this.#calls?.isShellWaiting === true;
  }

  /** Whether a poll found a change of the shells. */
  isNamedIn(ready: readonly Ready[]): boolean {
    return ready.some(({ fd }) => fd === this.#watch?.fd || fd === this.#calls?.fd);
  }

  /** Whether more output can be read immediately. */
  get hasMore(): boolean {
    return this.#more;
  }

  /**
   * Looks for folders that the child has created, for example after a change of its working directory.
   *
   * @param at milliseconds on a clock that only goes forward
   */
  findFolders(at = 0): void {
    const { tempDir, sessionId } = this.#options;
    if (at < this.#foundAt + FIND_MS) return;
    this.#foundAt = at;
    for (const user of namesBelow(tempDir, [])) {
      if (!user.startsWith("claude-")) continue;
      for (const slug of namesBelow(tempDir, [user])) {
        const names = [user, slug, sessionId, "tasks"];
        const path = names.join("/");
        if (this.#folders.has(path) || this.#folders.size >= MOST_FILES) continue;
        const folder = OpenFolder.find(tempDir, names);
        if (folder === undefined) continue;
        this.#folders.set(path, folder);
        // No event reports the files that are already in the folder.
        this.#lookedAt = -Infinity;
        this.#attend(folder);
      }
    }
  }

  /** Reads a portion of the output of each shell. */
  read({ at, child, paused = false }: ShellLook): readonly ShellInput[] {
    this.#heed(at);
    this.#takeCalls({ at, child });
    this.#search(at, child);
    this.#more = false;
    const news: ShellInput[] = this.#unseen.map((id) => ({ type: "shell-over", id }));
    this.#unseen = [];
    for (const shell of this.#shells.values()) {
      if (!shell.told && !isDue(shell, at)) continue;
      if (!shell.told) news.push(startOf(shell));
      shell.told = true;
      if (!paused) news.push(...this.#tell(shell));
    }
    return news;
  }

  /** Reads the rest of all shells after the child's end, at most `limit` characters. */
  readAll(look: ShellLook): readonly ShellInput[] {
    const { limit = LIMIT } = this.#options;
    const news: ShellInput[] = [];
    let told = 0;
    do {
      for (const shell of this.#shells.values()) shell.gone = true;
      for (const one of this.read(look)) {
        news.push(one);
        if (one.type === "shell-output") told += one.text.length;
      }
    } while (this.#more && told < limit);
    return news;
  }

  /** Reports the complete output of a shell from now on. */
  follow(id: string): void {
    const shell = this.#shells.get(id);
    if (shell === undefined) return;
    shell.followed = true;
    this.#more = true;
  }

  /** Reports the rest of a shell's output, and then its end unless that was reported. */
  finish(id: string): void {
    const shell = this.#shells.get(id);
    this.#more = true;
    if (shell === undefined) {
      this.#unseen = [...this.#unseen, id];
      return;
    }
    shell.followed = true;
    shell.left = true;
    if (shell.over) this.#forget(shell);
  }

  [Symbol.dispose](): void {
    for (const shell of this.#shells.values()) this.#forget(shell);
    this.#calls?.[Symbol.dispose]();
    for (const folder of this.#folders.values()) folder[Symbol.dispose]();
    this.#watch?.[Symbol.dispose]();
  }

  /** Creates the folder before Claude Code does, so that it can be watched from the beginning. */
  #makeFolder(): void {
    const { tempDir, cwd, sessionId } = this.#options;
    const path = `${tempDir}/claude-${Deno.uid()}/${projectSlug(cwd)}/${sessionId}/tasks`;
    Deno.mkdirSync(path, { recursive: true, mode: 0o700 });
  }

  #attend(folder: OpenFolder): void {
    try {
      this.#watch?.add(folder.path);
    } catch (error) {
      // The user's limit of watches is reached. The folder is listed every LOOK_MS.
      if (!(error instanceof LibcError)) throw error;
    }
  }

  /** Reads the events of the watch: created and removed files, and the streams that were written to. */
  #heed(at: number): void {
    const split = [...this.#shells.values()].flatMap(({ streams }) => streams ?? []);
    for (const streams of split) streams.begin();
    let changed = at >= this.#lookedAt + LOOK_MS;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const news = this.#watch?.readChanges();
      changed ||= news === undefined || news.changed;
      for (const streams of split) streams.note(news?.written);
      // The events may or may not include a write since the positions were read.
      if (split.every((streams) => streams.isStable())) break;
    }
    if (changed) {
      this.#lookedAt = at;
      for (const folder of this.#folders.values()) this.#look(folder, at);
    }
    for (const { streams, gone, left } of this.#shells.values()) {
      streams?.conclude({ at, ended: gone || left });
    }
  }

  /** Opens the streams of shells that have just started, and releases them. */
  #takeCalls({ at, child }: Pick<ShellLook, "at" | "child">): void {
    const shellOf = (inode: string) =>
      [...this.#shells.values()].find(({ file }) => file.inode === inode);
    for (const { pid, inode } of this.#calls?.take(child) ?? []) {
      // The event of its file may not have arrived.
      if (shellOf(inode) === undefined) {
        for (const folder of this.#folders.values()) this.#look(folder, at);
      }
      const shell = shellOf(inode);
      if (shell !== undefined && shell.streams === undefined) {
        const name = `${shell.id}.output`;
        const streams = SplitStreams.of(pid, { file: shell.file, name });
        if (streams !== undefined) shell.streams = streams;
      }
      this.#calls?.release(pid);
    }
  }

  /** Opens the new files in a folder, and marks the shells whose files were removed. */
  #look(folder: OpenFolder, at: number): void {
    const names = new Set(folder.names({ most: MOST_NAMES }));
    for (const name of names) this.#take(name, { folder, at });
    // The list is incomplete, so a missing file may exist.
    if (names.size >= MOST_NAMES) return;
    for (const shell of this.#shells.values()) {
      if (shell.folder === folder && !names.has(`${shell.id}.output`)) shell.gone = true;
    }
  }

  #take(
    name: string,
    { folder, at }: { readonly folder: OpenFolder; readonly at: number },
  ): void {
    const [, id] = NAME.exec(name) ?? [];
    if (id === undefined || this.#known.has(id) || this.#known.size >= MOST_KNOWN) return;
    this.#known.add(id);
    this.#makeRoom();
    try {
      const file = new ShellFile(`${folder.path}/${name}`);
      const state = { gone: false, told: false, followed: false, left: false, over: false };
      this.#shells.set(id, { id, file, folder, seenAt: at, ...state });
    } catch (error) {
      const isFit = !(error instanceof UnfitFileError || error instanceof Deno.errors.NotFound);
      if (isFit) throw error;
    }
  }

  /** Closes the oldest shell that is not followed, if there are too many. */
  #makeRoom(): void {
    if (this.#shells.size < MOST_FILES) return;
    const oldest = [...this.#shells.values()].find(({ followed }) => !followed);
    if (oldest !== undefined) this.#forget(oldest);
  }

  /** Looks for processes of the child whose stdout is one of the new files. */
  #search(at: number, child: number): void {
    const unseen = [...this.#shells.values()]
      .filter(({ command, gone }) => command === undefined && !gone);
    const isYoung = unseen.some(({ seenAt }) => at < seenAt + SEARCH_AGAIN_MS);
    const dueAt = this.#searchedAt + (isYoung ? SEARCH_MS : SEARCH_AGAIN_MS);
    if (unseen.length === 0 || at < dueAt) return;
    this.#searchedAt = at;
    const commands = readShellCommands(child);
    for (const shell of unseen) {
      const command = commands.get(shell.file.inode);
      if (command !== undefined) shell.command = command;
    }
  }

  #tell(shell: TrackedShell): readonly ShellInput[] {
    const { id, file, followed, gone, left, streams } = shell;
    const { limit = LIMIT } = this.#options;
    const most = followed ? limit : Math.min(BEGINNING, limit);
    const room = this.#buffer.subarray(0, Math.max(0, most - file.read));
    if (room.length === 0 && most < limit) return [];
    const { texts, ended } = room.length === 0
      ? { texts: [], ended: true }
      : file.next(room, streams?.parts);
    const said: ShellInput[] = texts.map((text) => outputOf(id, text));
    if (!ended) {
      this.#more ||= file.read < most || most === limit;
      return said;
    }
    if (!gone && !left) return said;
    if (streams !== undefined && file.size > streams.end) {
      this.#more = true;
      return said;
    }
    if (!shell.over) {
      said.push(...file.rest().map((text) => outputOf(id, text)));
      said.push({ type: "shell-over", id, ...(file.read >= limit ? { cut: true } : {}) });
    }
    shell.over = true;
    if (left) this.#forget(shell);
    return said;
  }

  #forget({ id, file, streams }: TrackedShell): void {
    file[Symbol.dispose]();
    if (streams !== undefined) {
      streams[Symbol.dispose]();
      this.#calls?.forget(streams.pid);
    }
    this.#shells.delete(id);
  }
}

function outputOf(id: string, written: WrittenText): ShellInput {
  return { type: "shell-output", id, ...written };
}

/** Whether a shell can be reported. */
function isDue({ command, gone, followed, seenAt }: TrackedShell, at: number): boolean {
  return gone || followed || (command !== undefined && at >= seenAt + SETTLED_MS);
}

function startOf({ id, command, gone }: TrackedShell): ShellInput {
  return { type: "shell", id, ...(command === undefined ? {} : { command }), running: !gone };
}

function namesBelow(base: string, names: readonly string[]): readonly string[] {
  using folder = OpenFolder.find(base, names);
  return folder?.names({ most: MOST_NAMES }) ?? [];
}
