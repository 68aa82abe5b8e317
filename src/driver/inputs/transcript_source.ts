import { namesIn } from "../../../ffi/files/at_path.ts";
import { type Entry, parseEntry } from "../../claude/transcript/entry.ts";
import { UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { readTranscript } from "../../sandbox/transcripts/read_transcript.ts";
import { createLineSplitter } from "../../claude/transcript/line_splitter.ts";
import { readJsonObject } from "../../sandbox/read_json_object.ts";
import type { Input, Subagent, Untimed } from "../../conversation/control/input.ts";
import type { JsonObject } from "../../json_object.ts";

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
  get hasMore(): boolean {
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

/** Whoever follows a growing file. */
interface LineFollower {
  /** The complete lines that were added since the last call, as far as so much is read at once. */
  (): readonly string[];
  /** Whether the last call has left some. */
  readonly isBehind: boolean;
}

/**
 * Follows a growing file: each call gives the complete lines added since the last one, none while there is no such
 * file, or something in its place that cannot be read.
 *
 * @param place says where the file is: it may be moved meanwhile
 * @param options.from the size in bytes of what is not to be read
 * @param options.most how much is read at once, in bytes; all by default
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

/** A line of a subagent's transcript, or what is noted beside it. */
type SubagentInput = Untimed<
  Extract<Input, { readonly type: "subagent" | "subagent-note" }>
>;

/** Where a session's subagents have their transcripts, after what holds that folder, by the path of the session's own. */
export function subagentFolders(transcript: string): readonly [string, string] {
  const own = transcript.replace(/\.jsonl$/u, "");
  return [own, `${own}/subagents`];
}

/** Follows the transcripts of a session's subagents, which lie in a folder beside its own and are moved with it. */
export class SubagentSource {
  readonly #projects: string;
  readonly #resumed: ReadonlyMap<string, number>;
  readonly #mirrored: boolean;
  /** What gives what is new of each, by its id. */
  readonly #followed = new Map<string, () => readonly SubagentInput[]>();
  #dir = "";

  /**
   * @param options.resumed files that were there before, by path below `projects/`, and their size
   * @param options.mirrored whether it is told what is noted of them
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
   * The complete lines added since the last read, those of one subagent in order and after what is noted of it.
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

  /** Follows a subagent, unless its note is not there yet, or half written. */
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

/** What a note says of a subagent. */
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
 * Follows a note, which is written anew each time: each call gives it if it says something else than the last time, and
 * one that is known from earlier runs once its subagent is heard again; a half written one is left to the next call.
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
