import { namesIn } from "../../../ffi/files/at_path.ts";
import { type Entry, parseEntry } from "../../claude/transcript/entry.ts";
import { UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { readTranscript } from "../../sandbox/transcripts/read_transcript.ts";
import { createLineSplitter } from "../../claude/transcript/line_splitter.ts";
import { readJsonObject } from "../../sandbox/read_json_object.ts";
import type { Input, Subagent, Untimed } from "../../conversation/control/input.ts";
import type { JsonObject } from "../../json_object.ts";

/** The maximum number of bytes of a read, so that other inputs are not delayed and little memory is used. */
const PORTION = 256_000;

/**
 * Follows the session's transcript. It is found by the session's id, because other Claude Codes that hooks and tools
 * start write transcripts to the same folder.
 *
 * The folder is named after the working directory, which `--worktree` changes. 2.1.330 moves the transcript when a turn
 * enters or leaves a worktree.
 */
export class TranscriptSource {
  readonly #projects: string;
  readonly #name: string;
  readonly #resumed: ReadonlyMap<string, number>;
  #path: string | undefined;
  #read: LineFollower | undefined;

  /** @param options.resumed the sizes of transcripts before the child's start, by path below `projects/` */
  constructor(options: {
    readonly configDir: string;
    readonly sessionId: string;
    readonly resumed: ReadonlyMap<string, number>;
  }) {
    this.#projects = `${options.configDir}/projects`;
    this.#name = `${options.sessionId}.jsonl`;
    this.#resumed = options.resumed;
  }

  /** The last known path of the transcript; undefined until the child has written to it. */
  get path(): string | undefined {
    return this.#path;
  }

  /** Looks for the transcript again if it was moved or not found yet. Links do not count. */
  find(): string | undefined {
    if (this.#path === undefined || sizeOf(this.#path) === undefined) this.#path = this.#find();
    return this.#path;
  }

  /** Whether the last read has left lines unread. */
  get hasMore(): boolean {
    return this.#read?.isBehind === true;
  }

  /**
   * Reads complete lines since the last call, limited to `PORTION` bytes. Lines that are no JSON objects are left out.
   */
  read(): readonly Entry[] {
    const { path } = this;
    if (path === undefined) return [];
    this.#read ??= followLines(() => this.path, { from: this.#known(path), most: PORTION });
    return this.#read().map(parseEntry).filter((entry) => entry !== undefined);
  }

  /**
   * Finds a transcript of the session that is new, or larger than the copy that was put there before the child's start.
   */
  #find(): string | undefined {
    return namesIn(this.#projects).map((slug) => `${this.#projects}/${slug}/${this.#name}`)
      .find((path) => (sizeOf(path) ?? 0) > this.#known(path));
  }

  /** The number of bytes that were copied in before the child's start. */
  #known(path: string): number {
    return this.#resumed.get(path.slice(this.#projects.length + 1)) ?? 0;
  }
}

/** The size of a regular file. */
function sizeOf(path: string): number | undefined {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    return isFile ? size : undefined;
  } catch {
    return undefined;
  }
}

/** Follows a growing file. */
interface LineFollower {
  /** Returns the complete lines since the last call, limited to the bytes of one read. */
  (): readonly string[];
  /** Whether the last call has left lines unread. */
  readonly isBehind: boolean;
}

/**
 * Follows a growing file. A file that does not exist or cannot be read has no lines.
 *
 * @param place returns the path of the file, which may be moved
 * @param options.from the number of skipped bytes at the beginning
 * @param options.most the maximum number of bytes of a read; all by default
 */
export function followLines(
  place: () => string | undefined,
  { from = 0, most }: { readonly from?: number | undefined; readonly most?: number } = {},
): LineFollower {
  const lines = createLineSplitter();
  let position = from;
  let isBehind = false;
  const read = () => {
    isBehind = false;
    const path = place();
    if (path === undefined) return [];
    try {
      const bytes = readTranscript(path, {
        from: position,
        ...(most === undefined ? {} : { most }),
      });
      position += bytes.length;
      isBehind = bytes.length === most;
      return lines.push(bytes);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof UnfitFileError) return [];
      throw error;
    }
  };
  return Object.defineProperty(read, "isBehind", { get: () => isBehind }) as LineFollower;
}

/** A line of a subagent's transcript, or the note about the subagent. */
type SubagentInput = Untimed<
  Extract<Input, { readonly type: "subagent" | "subagent-note" }>
>;

/** The session's own folder and, in it, the folder of its subagents' transcripts. */
export function subagentFolders(transcript: string): readonly [string, string] {
  const own = transcript.replace(/\.jsonl$/u, "");
  return [own, `${own}/subagents`];
}

/** Follows the transcripts of a session's subagents. Their folder is next to the session's transcript and moves with it. */
export class SubagentSource {
  readonly #projects: string;
  readonly #resumed: ReadonlyMap<string, number>;
  readonly #mirrored: boolean;
  /** Returns the new inputs of each subagent, by its id. */
  readonly #followed = new Map<string, () => readonly SubagentInput[]>();
  #dir = "";

  /**
   * @param options.resumed the sizes of files before the child's start, by path below `projects/`
   * @param options.mirrored whether notes are also reported
   */
  constructor(options: {
    readonly configDir: string;
    readonly resumed: ReadonlyMap<string, number>;
    readonly mirrored: boolean;
  }) {
    this.#projects = `${options.configDir}/projects/`;
    this.#resumed = options.resumed;
    this.#mirrored = options.mirrored;
  }

  /**
   * Reads the complete lines since the last call. The lines of one subagent are in order, and follow its note.
   *
   * @param transcript the path of the session's own transcript
   */
  read(transcript: string): readonly SubagentInput[] {
    [, this.#dir] = subagentFolders(transcript);
    for (const name of namesIn(this.#dir).toSorted()) {
      const [, agentId] = /^agent-(.+)\.jsonl$/u.exec(name) ?? [];
      if (agentId !== undefined && !this.#followed.has(agentId)) this.#follow(agentId);
    }
    return [...this.#followed.values()].flatMap((read) => read());
  }

  /** Follows a subagent, once its note is complete. */
  #follow(agentId: string): void {
    const name = `agent-${agentId}.jsonl`;
    const readNote = () => readJsonObject(`${this.#dir}/agent-${agentId}.meta.json`);
    const note = readNote();
    if (note === undefined) return;
    const subagent = subagentOf(agentId, note);
    const path = `${this.#dir}/${name}`;
    const from = path.startsWith(this.#projects)
      ? this.#resumed.get(path.slice(this.#projects.length))
      : undefined;
    const readLines = followLines(() => `${this.#dir}/${name}`, { from });
    const readChange = followNote(readNote, { known: from === undefined ? undefined : note });
    this.#followed.set(agentId, () => {
      const entries = readLines().map(parseEntry).filter((entry) => entry !== undefined);
      const changed = this.#mirrored ? readChange({ isHeard: entries.length > 0 }) : undefined;
      return [
        ...changed === undefined
          ? []
          : [{ type: "subagent-note", agentId, note: changed } as const],
        ...entries.map((entry) => ({ type: "subagent", line: { subagent, entry } } as const)),
      ];
    });
  }
}

/** Reads a subagent from its note. */
function subagentOf(agentId: string, note: JsonObject): Subagent {
  const { toolUseId, agentType, description, requestShape } = note;
  const isCalled = typeof toolUseId === "string";
  return {
    agentId,
    ...(isCalled ? { toolUseId } : {}),
    ...(!isCalled && requestShape === "background" ? { background: true } : {}),
    type: typeof agentType === "string" ? agentType : "general-purpose",
    description: typeof description === "string" ? description : "",
  };
}

/**
 * Follows a note, which Claude Code rewrites. Each call returns the note if it has changed. It returns the note of an
 * earlier run when the note's subagent writes again. The next call reads a half-written note.
 */
function followNote(
  read: () => JsonObject | undefined,
  { known }: { readonly known: JsonObject | undefined },
): (now: { readonly isHeard: boolean }) => JsonObject | undefined {
  let last = JSON.stringify(known);
  let isTold = false;
  return ({ isHeard }) => {
    const note = read();
    const text = JSON.stringify(note);
    if (note === undefined || (text === last && (isTold || !isHeard))) return undefined;
    last = text;
    isTold = true;
    return note;
  };
}
