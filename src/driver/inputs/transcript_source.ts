import { namesIn } from "../../../ffi/files/at_path.ts";
import { followLines, type LineFollower } from "./follow_lines.ts";
import { type Entry, parseEntry } from "../../claude/transcript/entry.ts";

/** How much is read at once, in bytes: in between there is time for everything else, and memory is little. */
const PORTION = 256_000;

/**
 * Tails the session's transcript, which is named after the session: hooks and tools that start a Claude Code of their
 * own put further ones beside it.
 *
 * Its folder is that of the working directory, which is another one with `--worktree`, and since 2.1.330 it is moved
 * when the turn enters a worktree or leaves it.
 */
export class TranscriptSource {
  readonly #projects: string;
  readonly #name: string;
  readonly #resumed: ReadonlyMap<string, number>;
  #path: string | undefined;
  #read: LineFollower | undefined;

  /** @param options.resumed transcripts that were there before, by path below `projects/`, and their size */
  constructor(options: {
    readonly configDir: string;
    readonly sessionId: string;
    readonly resumed: ReadonlyMap<string, number>;
  }) {
    this.#projects = `${options.configDir}/projects`;
    this.#name = `${options.sessionId}.jsonl`;
    this.#resumed = options.resumed;
  }

  /** Path of the transcript, as it was found last; `undefined` until the child has written to it. */
  get path(): string | undefined {
    return this.#path;
  }

  /** Looks for the transcript where it is not there any more, or has not been found yet: a file, and no link. */
  find(): string | undefined {
    if (this.#path === undefined || sizeOf(this.#path) === undefined) this.#path = this.#find();
    return this.#path;
  }

  /** Whether the last read has left lines that were there. */
  get isBehind(): boolean {
    return this.#read?.isBehind === true;
  }

  /** The complete lines added since the last read, or the first of many; what is no JSON object is none. */
  read(): readonly Entry[] {
    const { path } = this;
    if (path === undefined) return [];
    this.#read ??= followLines(() => this.path, { from: this.#known(path), most: PORTION });
    return this.#read().map(parseEntry).filter((entry) => entry !== undefined);
  }

  /** A transcript of the session that is new or has grown beyond what was copied in. */
  #find(): string | undefined {
    return namesIn(this.#projects).map((slug) => `${this.#projects}/${slug}/${this.#name}`)
      .find((path) => (sizeOf(path) ?? 0) > this.#known(path));
  }

  /** How much of it was copied in. */
  #known(path: string): number {
    return this.#resumed.get(path.slice(this.#projects.length + 1)) ?? 0;
  }
}

/** The size of a file; a link is none. */
function sizeOf(path: string): number | undefined {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    return isFile ? size : undefined;
  } catch {
    return undefined;
  }
}
