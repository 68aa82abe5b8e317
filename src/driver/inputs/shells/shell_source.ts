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

/** What is heard of shells. */
export type ShellInput = Untimed<
  Extract<Input, { readonly type: "shell" | "shell-output" | "shell-over" }>
>;

/** Where the child's shells write to. */
export interface ShellSourceOptions {
  /** The child's `CLAUDE_CODE_TMPDIR`. */
  readonly tempDir: string;
  readonly sessionId: string;
  /** The real path of its working directory. */
  readonly cwd: string;
  /** The largest output of one shell that is told, in bytes; 64 MB by default. */
  readonly limit?: number;
  /** The folder of the streams, where stdout and stderr are to be told apart. */
  readonly streamsDir?: string;
}

/** How the shells are looked at. */
export interface ShellLook {
  /** Milliseconds on a clock that only goes forward. */
  readonly at: number;
  /** The child's pid. */
  readonly child: number;
  /** Whether nobody takes what is told just now: then it stays in its file. */
  readonly paused?: boolean;
}

/**
 * How old a shell is when it is told of: by then the line of its call is in the transcript, which is written every 0.1 s,
 * and with it the lines of others that may have called for the same.
 */
const SETTLED_MS = 200;
/** How much is told of a shell as long as it is not known whose it is, in bytes. */
const BEGINNING = 64 * 1024;
/** Most bytes of one read: whoever writes without end keeps nothing else from being heard. */
const PORTION = 64 * 1024;
const LIMIT = 64_000_000;
/** Most files that are held, and most names that are looked at: tools can make as many as they like. */
const MOST_FILES = 128;
const MOST_NAMES = 2000;
/** What the names look like that Claude Code gives. */
const NAME = /^([\w-]{1,64})\.output$/u;
const MOST_KNOWN = 100_000;
/** How often what was written is looked at again while more is written. */
const MOST_ATTEMPTS = 3;
/** How often folders are looked for that the child makes only where it changes its own. */
const FIND_MS = 500;
/** How often folders are looked at of which nothing is told. */
const LOOK_MS = 500;
/** How often the process of a shell is looked for, in milliseconds, and that of one which was not found soon. */
const SEARCH_MS = 5;
const SEARCH_AGAIN_MS = 200;

/** A shell whose file is held. */
interface TrackedShell {
  readonly id: string;
  readonly file: ShellFile;
  readonly folder: OpenFolder;
  readonly seenAt: number;
  /** What its process carries out, once that was seen. */
  command?: string;
  /** Which part of what it writes is of which stream, where that is looked at. */
  streams?: SplitStreams;
  /** Whether the name of its file is gone: Claude Code has read what it wrote. */
  gone: boolean;
  told: boolean;
  followed: boolean;
  /** Whether only the rest is to be told. */
  left: boolean;
  over: boolean;
}

/**
 * Follows what the shells of the tool Bash write while they run.
 *
 * Claude Code gives each a file for stdout and stderr, `<id>.output` in a folder of the session, and removes it when a
 * call that waited for its shell returns (2.1.330). Tools can put files there too, so one counts only while
 * a process has it as its stdout that the child itself has started, once it has been removed, or once Claude Code has
 * named its id. No link is followed, and nothing but regular files is opened.
 */
export class ShellSource implements Disposable {
  readonly #options: ShellSourceOptions;
  readonly #watch: FolderWatch | undefined;
  /** By their paths below the folder for temporary files. */
  readonly #folders = new Map<string, OpenFolder>();
  readonly #shells = new Map<string, TrackedShell>();
  /** Ids that are not looked at again. */
  readonly #known = new Set<string>();
  readonly #calls: WaitingShells | undefined;
  /** Ids of shells that nobody has seen and that were to be left. */
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

  /** What to wait for; where folders cannot be watched, they are looked at now and then. */
  get interests(): readonly Interest[] {
    return [
      ...(this.#watch === undefined ? [] : [{ fd: this.#watch.fd, read: true }]),
      ...(this.#calls === undefined ? [] : [{ fd: this.#calls.fd, read: true }]),
    ];
  }

  /** Whether a shell is about to wait for being looked at, which nothing tells. */
  get isShellWaiting(): boolean {
    return this.#calls?.isShellWaiting === true;
  }

  /** Whether a wait found something to look at. */
  isNamedIn(ready: readonly Ready[]): boolean {
    return ready.some(({ fd }) => fd === this.#watch?.fd || fd === this.#calls?.fd);
  }

  /** Whether there is more to read at once. */
  get hasMore(): boolean {
    return this.#more;
  }

  /**
   * Looks for folders that the child has made since, as those of another working directory.
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
        // What is in it by now is not told.
        this.#lookedAt = -Infinity;
        this.#attend(folder);
      }
    }
  }

  /** What there is to tell since the last time, a portion of each shell. */
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

  /** What there is left to tell of all shells, now that the child is gone; of very much only a part. */
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

  /** Tells all that a shell writes from now on. */
  follow(id: string): void {
    const shell = this.#shells.get(id);
    if (shell === undefined) return;
    shell.followed = true;
    this.#more = true;
  }

  /** Tells the rest of what a shell has written, and then that this was all, if it has not been told before. */
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

  /** Makes the folder before Claude Code does, so that nothing happens in it unseen. */
  #makeFolder(): void {
    const { tempDir, cwd, sessionId } = this.#options;
    const path = `${tempDir}/claude-${Deno.uid()}/${projectSlug(cwd)}/${sessionId}/tasks`;
    Deno.mkdirSync(path, { recursive: true, mode: 0o700 });
  }

  #attend(folder: OpenFolder): void {
    try {
      this.#watch?.add(folder.path);
    } catch (error) {
      // The user watches as many as the system allows: then it is looked at now and then.
      if (!(error instanceof LibcError)) throw error;
    }
  }

  /** Notes what has been made, removed, and written by whom. */
  #heed(at: number): void {
    const split = [...this.#shells.values()].flatMap(({ streams }) => streams ?? []);
    for (const streams of split) streams.begin();
    let changed = at >= this.#lookedAt + LOOK_MS;
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      const news = this.#watch?.readChanges();
      changed ||= news === undefined || news.changed;
      for (const streams of split) streams.note(news?.written);
      // What is written meanwhile may have been told or not.
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

  /** Looks at the streams of shells that have just been started, which wait for that. */
  #takeCalls({ at, child }: Pick<ShellLook, "at" | "child">): void {
    const shellOf = (inode: string) =>
      [...this.#shells.values()].find(({ file }) => file.inode === inode);
    for (const { pid, inode } of this.#calls?.take(child) ?? []) {
      // The news of its file may be on its way.
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

  /** Takes up the files that are new in a folder, and notes which are gone. */
  #look(folder: OpenFolder, at: number): void {
    const names = new Set(folder.names({ most: MOST_NAMES }));
    for (const name of names) this.#take(name, { folder, at });
    // Of a folder with too many names it is not known which are not there.
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

  /** Lets the oldest go of those that nobody has asked for, once there are too many. */
  #makeRoom(): void {
    if (this.#shells.size < MOST_FILES) return;
    const oldest = [...this.#shells.values()].find(({ followed }) => !followed);
    if (oldest !== undefined) this.#forget(oldest);
  }

  /** Looks which of the files that are new are the stdout of the child's own shells. */
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

/** Whether it is time to tell of a shell. */
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
