import { followLines } from "./follow_lines.ts";
import { namesIn } from "../../sandbox/on_disk.ts";
import { readJsonObject } from "../../sandbox/read_json_object.ts";
import type { Subagent, SubagentLine } from "../../session/input.ts";
import { parseEntry } from "../../transcript/entry.ts";

/** Where a session's subagents have their transcripts, after what holds that folder, by the path of the session's own. */
export function subagentFolders(transcript: string): readonly [string, string] {
  const own = transcript.replace(/\.jsonl$/u, "");
  return [own, `${own}/subagents`];
}

/** Follows the transcripts of a session's subagents, which lie in a folder beside its own and are moved with it. */
export class SubagentSource {
  readonly #projects: string;
  readonly #resumed: ReadonlyMap<string, number>;
  /** By the subagent's id. */
  readonly #followed = new Map<
    string,
    { readonly subagent: Subagent; readonly read: () => readonly string[] }
  >();
  #dir = "";

  /** @param options.resumed files that were there before, by path below `projects/`, and their size */
  constructor(options: {
    readonly configDir: string;
    readonly resumed: ReadonlyMap<string, number>;
  }) {
    this.#projects = `${options.configDir}/projects/`;
    this.#resumed = options.resumed;
  }

  /**
   * The complete lines added since the last read, those of one subagent in order.
   *
   * @param transcript the path of the session's own transcript
   */
  read(transcript: string): readonly SubagentLine[] {
    [, this.#dir] = subagentFolders(transcript);
    for (const name of namesIn(this.#dir).toSorted()) {
      const [, agentId] = /^agent-(.+)\.jsonl$/u.exec(name) ?? [];
      if (agentId === undefined || this.#followed.has(agentId)) continue;
      const path = `${this.#dir}/${name}`;
      const subagent = readSubagent(path.replace(/\.jsonl$/u, ".meta.json"), agentId);
      if (subagent === undefined) continue;
      const from = path.startsWith(this.#projects)
        ? this.#resumed.get(path.slice(this.#projects.length))
        : undefined;
      const read = followLines(() => `${this.#dir}/${name}`, { from });
      this.#followed.set(agentId, { subagent, read });
    }
    return [...this.#followed.values()].flatMap(({ subagent, read }) =>
      read().map(parseEntry).filter((entry) => entry !== undefined)
        .map((entry) => ({ subagent, entry }))
    );
  }
}

/** Reads the note about a subagent; undefined while it is not there or half written. */
function readSubagent(path: string, agentId: string): Subagent | undefined {
  const { toolUseId, agentType, description } = readJsonObject(path) ?? {};
  return typeof toolUseId === "string"
    ? {
      agentId,
      toolUseId,
      type: typeof agentType === "string" ? agentType : "general-purpose",
      description: typeof description === "string" ? description : "",
    }
    : undefined;
}
