import { namesIn } from "../../../ffi/files/at_path.ts";
import { followLines } from "./follow_lines.ts";
import { readJsonObject } from "../../sandbox/read_json_object.ts";
import type { Input, Subagent, Untimed } from "../../conversation/control/input.ts";
import { parseEntry } from "../../claude/transcript/entry.ts";
import type { JsonObject } from "../../json_object.ts";

/** A line of a subagent's transcript, or what is noted beside it. */
export type SubagentNews = Untimed<
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
  readonly #followed = new Map<string, () => readonly SubagentNews[]>();
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
  read(transcript: string): readonly SubagentNews[] {
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
