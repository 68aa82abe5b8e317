import type { Interest, Ready } from "../../../ffi/descriptors/poll.ts";
import type { RetrySource } from "./debug_log.ts";
import { subagentFolders, SubagentSource, TranscriptSource } from "./transcript_source.ts";
import { parentOf } from "../../paths.ts";
import type { Input, Untimed } from "../../conversation/control/input.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { FolderWatch } from "../../../ffi/files/folder_watch.ts";
import { fileAt, namesIn } from "../../../ffi/files/at_path.ts";
import { readJsonObject } from "../../sandbox/read_json_object.ts";
import type { ChildStatus } from "../../conversation/control/session_state.ts";

/** An input from the child's hooks. */
export type HookInput = Untimed<Extract<Input, { readonly type: "hook" | "cost" }>>;

/** An input from the child's files, or from its hooks. Inputs from hooks come first. */
type FileInput =
  | HookInput
  | Untimed<
    Extract<
      Input,
      { readonly type: "status" | "transcript" | "subagent" | "subagent-note" | "fault" | "read" }
    >
  >;

/** The files that a child writes. */
interface FileSourceOptions {
  readonly configDir: string;
  /** The sizes of the session's transcripts before the child's start, by path below `projects/`. */
  readonly resumed: ReadonlyMap<string, number>;
  readonly sessionId: string;
  readonly pid: number;
  /** Whether subagents are followed, and files are read as soon as they change. */
  readonly frames: boolean;
  /** Whether the caller gets a mirror of the transcripts. */
  readonly mirrored: boolean;
  /** The source of failed requests to the API, if they are reported. */
  readonly retries: RetrySource | undefined;
  /** Takes the calls of hooks since the last call. */
  readonly hooks: () => Iterable<HookInput>;
  /** The time, in milliseconds on the clock of inputs. */
  readonly now: () => number;
}

/**
 * The interval at which files in watched folders are also read without an event, in milliseconds, because a watch may
 * be lost.
 */
const RECHECK_MS = 500;

/** Reads the files that the child writes: its status, its transcript, and the transcripts of its subagents. */
export class FileSource implements Disposable {
  readonly #configDir: string;
  readonly #status: StatusSource;
  readonly #transcript: TranscriptSource;
  readonly #subagents: SubagentSource | undefined;
  readonly #retries: RetrySource | undefined;
  readonly #hooks: () => Iterable<HookInput>;
  readonly #now: () => number;
  // The system allows each user few watches, and Claude Code needs one. So only runs with frames watch folders.
  readonly #folders: ChildFolders | undefined;
  /** Whether all folders of the child are watched. */
  #isWatched = false;
  #isNews = false;
  #lookedAt = 0;

  constructor(options: FileSourceOptions) {
    this.#configDir = options.configDir;
    this.#status = new StatusSource(options);
    this.#transcript = new TranscriptSource(options);
    this.#subagents = options.frames ? new SubagentSource(options) : undefined;
    this.#folders = options.frames ? new ChildFolders() : undefined;
    this.#retries = options.retries;
    this.#hooks = options.hooks;
    this.#now = options.now;
  }

  /** The descriptors to poll. */
  get interests(): readonly Interest[] {
    return this.#folders?.interests ?? [];
  }

  /** Path of the session's transcript; undefined until there is one. */
  get transcript(): string | undefined {
    return this.#transcript.path;
  }

  /** Whether the last read has left lines unread. */
  get hasMore(): boolean {
    return this.#transcript.hasMore;
  }

  /** Whether the files should be read now. While output is not read, files are read only at ticks. */
  isDue(
    ready: readonly Ready[],
    { isTick, isPaused }: { readonly isTick: boolean; readonly isPaused: boolean },
  ): boolean {
    this.#isNews ||= this.#folders?.hasChanged(ready) === true;
    const isLong = !this.#isWatched || this.#now() >= this.#lookedAt + RECHECK_MS;
    return (this.#isNews && !isPaused) || (isTick && (this.#isNews || isLong));
  }

  /** Reads all files. */
  *read(): Generator<FileInput> {
    this.#lookedAt = this.#now();
    this.#isNews = false;
    const path = this.#transcript.find();
    this.#isWatched = path !== undefined && this.#folders?.watch([
          `${this.#configDir}/sessions`,
          parentOf(path),
          ...subagentFolders(path),
        ]) === true;
    const changed = this.#status.read();
    yield* this.#readTranscript(changed === undefined ? [] : [{ type: "status", ...changed }]);
  }

  /** Reads the transcripts only. */
  readTranscript(): Iterable<FileInput> {
    return this.#readTranscript([]);
  }

  /**
   * Hooks are read after the transcripts, but their inputs come first, because the child writes a line only after the
   * hook before it has returned.
   */
  *#readTranscript(status: readonly FileInput[]): Generator<FileInput> {
    const entries = this.#transcript.read();
    const { path } = this.#transcript;
    const subagents = path === undefined ? [] : this.#subagents?.read(path) ?? [];
    yield* this.readHooks();
    yield* status;
    for (const entry of entries) yield { type: "transcript", entry };
    yield* subagents;
    if (entries.length + subagents.length > 0) yield { type: "read" };
  }

  /** The calls of hooks, after the failed requests that preceded them. */
  *readHooks(): Generator<FileInput> {
    const heard = [...this.#hooks()];
    yield* this.faults();
    yield* heard;
  }

  /** The failed requests to the API since the last call. */
  *faults(): Generator<FileInput> {
    for (const fault of this.#retries?.faults(this.#now()) ?? []) yield { type: "fault", fault };
  }

  [Symbol.dispose](): void {
    this.#folders?.[Symbol.dispose]();
  }
}

/** Watches the folders to which the child writes. */
export class ChildFolders implements Disposable {
  readonly #watch = FolderWatch.open();
  readonly #watched = new Set<string>();

  /**
   * Also watches these folders from now on.
   *
   * @returns whether all existing folders are watched
   */
  watch(paths: readonly string[]): boolean {
    const watch = this.#watch;
    if (watch === undefined) return false;
    let isComplete = true;
    for (const path of paths) {
      if (this.#watched.has(path)) continue;
      try {
        watch.add(path);
        this.#watched.add(path);
      } catch (error) {
        if (!(error instanceof LibcError)) throw error;
        // The user's limit of watches is reached. A folder that does not exist needs no watch.
        if (error.code !== "ENOENT") isComplete = false;
      }
    }
    return isComplete;
  }

  /** The descriptors to poll. */
  get interests(): readonly Interest[] {
    return this.#watch === undefined ? [] : [{ fd: this.#watch.fd, read: true }];
  }

  /** Whether a folder has changed since the last call. */
  hasChanged(ready: readonly Ready[]): boolean {
    if (!ready.some(({ fd }) => fd === this.#watch?.fd)) return false;
    if (this.#watch?.readChanges()?.isGone !== false) this.#watched.clear();
    return true;
  }

  [Symbol.dispose](): void {
    this.#watch?.[Symbol.dispose]();
  }
}

/** The child's status in `sessions/<pid>.json`. */
type ReportedStatus = ChildStatus & { readonly version?: string };

/**
 * The age in milliseconds from which a file's time of change is reliable: a later change would get another time,
 * although disk clocks are coarse.
 */
const SETTLED_MS = 1000;

/**
 * Reads the child's status file. Claude Code rewrites it when it becomes idle, becomes busy, or waits for a choice.
 *
 * The file is named after Claude Code's own pid. If `claude` is a wrapper that starts Claude Code as another process or
 * in a pid namespace, this pid is not the child's. Then the file that names the session counts.
 */
export class StatusSource {
  readonly #folder: string;
  readonly #sessionId: string;
  #path: string;
  #seen = "";
  /** The version of the file that was read last, if it was older than `SETTLED_MS`. */
  #settled = "";

  constructor(
    options: { readonly configDir: string; readonly pid: number; readonly sessionId: string },
  ) {
    this.#folder = `${options.configDir}/sessions`;
    this.#sessionId = options.sessionId;
    this.#path = `${this.#folder}/${options.pid}.json`;
  }

  /** Returns the status if it has changed since the last call. */
  read(): ReportedStatus | undefined {
    const file = fileAt(this.#path) ?? this.#fileOfSession();
    // The file does not exist yet, or was removed.
    if (file === undefined) return undefined;
    const mtime = file.mtime?.getTime() ?? Infinity;
    const written = `${file.ino} ${file.size} ${mtime}`;
    if (written === this.#settled) return undefined;
    if (Date.now() - mtime > SETTLED_MS) this.#settled = written;
    // A file that is being written is no valid JSON. The next call reads it.
    const { status, waitingFor, updatedAt, version } = readJsonObject(this.#path) ?? {};
    const seen = JSON.stringify([mtime, status, waitingFor, updatedAt]);
    if (seen === this.#seen || typeof status !== "string") return undefined;
    this.#seen = seen;
    return {
      status,
      ...(typeof waitingFor === "string" ? { waitingFor } : {}),
      ...(typeof updatedAt === "number" ? { updatedAt } : {}),
      ...(typeof version === "string" ? { version } : {}),
    };
  }

  #fileOfSession(): ReturnType<typeof fileAt> {
    for (const name of namesIn(this.#folder)) {
      const path = `${this.#folder}/${name}`;
      if (!name.endsWith(".json") || readJsonObject(path)?.["sessionId"] !== this.#sessionId) {
        continue;
      }
      this.#path = path;
      return fileAt(path);
    }
    return undefined;
  }
}
