import type { Interest, Ready } from "../../../ffi/descriptors/poll.ts";
import { ChildFolders } from "./child_folders.ts";
import type { RetrySource } from "./retry_source.ts";
import { StatusSource } from "./status_source.ts";
import { subagentFolders, SubagentSource } from "./subagent_source.ts";
import { TranscriptSource } from "./transcript_source.ts";
import { parentOf } from "../../sandbox/paths.ts";
import type { Input, Untimed } from "../../conversation/control/input.ts";

/** What the child's hooks tell. */
export type HookNews = Untimed<Extract<Input, { readonly type: "hook" | "cost" }>>;

/** What the child tells in its files, and what its hooks have told before that. */
export type WrittenNews =
  | HookNews
  | Untimed<
    Extract<
      Input,
      { readonly type: "status" | "transcript" | "subagent" | "subagent-note" | "fault" | "read" }
    >
  >;

/** Where a child writes to. */
export interface WrittenSourceOptions {
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
  readonly hooks: () => Iterable<HookNews>;
  /** The time, in milliseconds on the clock of inputs. */
  readonly now: () => number;
}

/** How often files are looked at whose folders are watched, in milliseconds: a watch may be lost. */
const WATCHED_MS = 500;

/** Reads what the child writes to files: its status, its transcript, and those of its subagents. */
export class WrittenSource implements Disposable {
  readonly #configDir: string;
  readonly #status: StatusSource;
  readonly #transcript: TranscriptSource;
  readonly #subagents: SubagentSource | undefined;
  readonly #retries: RetrySource | undefined;
  readonly #hooks: () => Iterable<HookNews>;
  readonly #now: () => number;
  // A user may have few watches, and Claude Code wants one: only what is told as it happens is worth one more.
  readonly #folders: ChildFolders | undefined;
  /** Whether the folders tell when the child writes, whether they have, and when the files were looked at last. */
  #isWatched = false;
  #isNews = false;
  #lookedAt = 0;

  constructor(options: WrittenSourceOptions) {
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
  get isBehind(): boolean {
    return this.#transcript.isBehind;
  }

  /** Whether the files are to be looked at; while nobody reads what is said, no more is read than at each tick. */
  isDue(
    ready: readonly Ready[],
    { isTick, isPaused }: { readonly isTick: boolean; readonly isPaused: boolean },
  ): boolean {
    this.#isNews ||= this.#folders?.heed(ready) === true;
    const isLong = !this.#isWatched || this.#now() >= this.#lookedAt + WATCHED_MS;
    return (this.#isNews && !isPaused) || (isTick && (this.#isNews || isLong));
  }

  /** Reads the files. */
  *read(): Generator<WrittenNews> {
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
  readTranscript(): Iterable<WrittenNews> {
    return this.#readTranscript([]);
  }

  /**
   * What a hook tells comes before what the child does once the hook has returned: hooks are heard after its files are
   * read, and told before them.
   */
  *#readTranscript(status: readonly WrittenNews[]): Generator<WrittenNews> {
    const entries = this.#transcript.read();
    const { path } = this.#transcript;
    const subagents = path === undefined ? [] : this.#subagents?.read(path) ?? [];
    yield* this.heard();
    yield* status;
    for (const entry of entries) yield { type: "transcript", entry };
    yield* subagents;
    if (entries.length + subagents.length > 0) yield { type: "read" };
  }

  /** What hooks tell, and before that which requests have failed: read after what came of those that followed. */
  *heard(): Generator<WrittenNews> {
    const heard = [...this.#hooks()];
    yield* this.faults();
    yield* heard;
  }

  /** Which requests have failed: read after what came of those that followed, and told before it. */
  *faults(): Generator<WrittenNews> {
    for (const fault of this.#retries?.faults(this.#now()) ?? []) yield { type: "fault", fault };
  }

  [Symbol.dispose](): void {
    this.#folders?.[Symbol.dispose]();
  }
}
