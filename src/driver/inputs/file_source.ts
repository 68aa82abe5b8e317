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

/** What the child's hooks tell. */
export type HookInput = Untimed<Extract<Input, { readonly type: "hook" | "cost" }>>;

/** What the child tells in its files, and what its hooks have told before that. */
type FileInput =
  | HookInput
  | Untimed<
    Extract<
      Input,
      { readonly type: "status" | "transcript" | "subagent" | "subagent-note" | "fault" | "read" }
    >
  >;

/** Where a child writes to. */
interface FileSourceOptions {
  readonly configDir: string;
  /** How long each of the session's transcripts was before the child, by its path below `projects`. */
  readonly resumed: ReadonlyMap<string, number>;
  readonly sessionId: string;
  readonly pid: number;
  /** Whether anybody wants to hear of subagents, and of everything as it happens; whether it is mirrored. */
  readonly frames: boolean;
  readonly mirrored: boolean;
  /** What tells of requests to the API that have failed, if that is to be heard. */
  readonly retries: RetrySource | undefined;
  /** What hooks have told since the last time. */
  readonly hooks: () => Iterable<HookInput>;
  /** The time, in milliseconds on the clock of inputs. */
  readonly now: () => number;
}

/** How often files are looked at whose folders are watched, in milliseconds: a watch may be lost. */
const RECHECK_MS = 500;

/** Reads what the child writes to files: its status, its transcript, and those of its subagents. */
export class FileSource implements Disposable {
  readonly #configDir: string;
  readonly #status: StatusSource;
  readonly #transcript: TranscriptSource;
  readonly #subagents: SubagentSource | undefined;
  readonly #retries: RetrySource | undefined;
  readonly #hooks: () => Iterable<HookInput>;
  readonly #now: () => number;
  // A user may have few watches, and Claude Code wants one: only what is told as it happens is worth one more.
  readonly #folders: ChildFolders | undefined;
  /** Whether the folders tell when the child writes, whether they have, and when the files were looked at last. */
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

  /** What to wait for. */
  get interests(): readonly Interest[] {
    return this.#folders?.interests ?? [];
  }

  /** The path of the session's transcript; undefined until there is one. */
  get transcript(): string | undefined {
    return this.#transcript.path;
  }

  /** Whether the last read has left lines that were there. */
  get hasMore(): boolean {
    return this.#transcript.hasMore;
  }

  /** Whether the files are to be looked at; while nobody reads what is said, no more is read than at each tick. */
  isDue(
    ready: readonly Ready[],
    { isTick, isPaused }: { readonly isTick: boolean; readonly isPaused: boolean },
  ): boolean {
    this.#isNews ||= this.#folders?.hasChanged(ready) === true;
    const isLong = !this.#isWatched || this.#now() >= this.#lookedAt + RECHECK_MS;
    return (this.#isNews && !isPaused) || (isTick && (this.#isNews || isLong));
  }

  /** Reads the files. */
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

  /** Reads the transcripts alone, or the first of many lines. */
  readTranscript(): Iterable<FileInput> {
    return this.#readTranscript([]);
  }

  /**
   * What a hook tells comes before what the child does once the hook has returned: hooks are heard after its files are
   * read, and told before them.
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

  /** What hooks tell, and before that which requests have failed: read after what came of those that followed. */
  *readHooks(): Generator<FileInput> {
    const heard = [...this.#hooks()];
    yield* this.faults();
    yield* heard;
  }

  /** Which requests have failed: read after what came of those that followed, and told before it. */
  *faults(): Generator<FileInput> {
    for (const fault of this.#retries?.faults(this.#now()) ?? []) yield { type: "fault", fault };
  }

  [Symbol.dispose](): void {
    this.#folders?.[Symbol.dispose]();
  }
}

/** Hears at once when the child writes its files, instead of looking at them now and then. */
export class ChildFolders implements Disposable {
  readonly #watch = FolderWatch.open();
  readonly #watched = new Set<string>();

  /**
   * Watches further folders; what was written there before is no news.
   *
   * @returns whether all that are there are watched
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
        // The user may watch as many as the system allows.
        if (error.code !== "ENOENT") isComplete = false;
      }
    }
    return isComplete;
  }

  /** What to wait for. */
  get interests(): readonly Interest[] {
    return this.#watch === undefined ? [] : [{ fd: this.#watch.fd, read: true }];
  }

  /** Whether something has happened in the folders since the last time. */
  hasChanged(ready: readonly Ready[]): boolean {
    if (!ready.some(({ fd }) => fd === this.#watch?.fd)) return false;
    if (this.#watch?.readChanges()?.isGone !== false) this.#watched.clear();
    return true;
  }

  [Symbol.dispose](): void {
    this.#watch?.[Symbol.dispose]();
  }
}

/** What the child reports of itself in `sessions/<pid>.json`. */
type ReportedStatus = ChildStatus & { readonly version?: string };

/** How old a state is that is the file's last for its time, in milliseconds: the clock of a disk is a coarse one. */
const SETTLED_MS = 1000;

/**
 * Reads the child's status file, which Claude Code rewrites whenever it becomes idle, busy or waits for a choice.
 *
 * The file is named after the pid that Claude Code has for itself. Where `claude` is a wrapper that starts it as another
 * process or in a pid namespace of its own, that is not the pid of the child: then the file that names the session counts.
 */
export class StatusSource {
  readonly #folder: string;
  readonly #sessionId: string;
  #path: string;
  #seen = "";
  /** The file as it was when it was read last, if it was old enough by then. */
  #settled = "";

  constructor(
    options: { readonly configDir: string; readonly pid: number; readonly sessionId: string },
  ) {
    this.#folder = `${options.configDir}/sessions`;
    this.#sessionId = options.sessionId;
    this.#path = `${this.#folder}/${options.pid}.json`;
  }

  /** The status, if the file was written since the last read. */
  read(): ReportedStatus | undefined {
    const file = fileAt(this.#path) ?? this.#fileOfSession();
    // Not there yet, or already removed.
    if (file === undefined) return undefined;
    const mtime = file.mtime?.getTime() ?? Infinity;
    const written = `${file.ino} ${file.size} ${mtime}`;
    if (written === this.#settled) return undefined;
    if (Date.now() - mtime > SETTLED_MS) this.#settled = written;
    // Caught while it is being written it is no JSON: the next read tells.
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
