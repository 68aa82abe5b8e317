import { followLines } from "./follow_lines.ts";

/** What a child's debug log tells of its connections to MCP servers. */
export interface McpConnections {
  /** How many it has begun, and how many of them it has done with. */
  readonly begun: number;
  readonly done: number;
  /** What became of those, by the name of the server. */
  readonly settled: Readonly<Record<string, "connected" | "failed">>;
}

/**
 * Only what a line begins with is looked at: what a server writes to its stderr follows in one line, however long that is.
 *
 * That a server's tools are on offer is told by the remark on its channel notifications, some 40 ms after its connection
 * (2.1.330); before 2.1.330 in a session that is resumed only after its SessionStart hooks.
 */
const NEWS =
  /^\S+ \[DEBUG\] MCP server "(.*)": (?:(Starting connection)|(Channel notifications)|Connection failed)/u;

/** Learns from the child's debug log how far it is with its MCP servers: nothing else tells. */
export class McpSource {
  readonly #newLines: () => readonly string[];
  #begun = 0;
  #done = 0;
  readonly #settled = new Map<string, "connected" | "failed">();

  constructor(logPath: string) {
    this.#newLines = followLines(() => logPath);
  }

  /** The connections so far, if there is news of them since the last read. */
  read(): McpConnections | undefined {
    let news = false;
    for (const line of this.#newLines()) {
      const [, server, begins, connected] = NEWS.exec(line) ?? [];
      if (server === undefined) continue;
      news = true;
      if (begins !== undefined) {
        this.#begun++;
        continue;
      }
      this.#done++;
      this.#settled.set(server, connected === undefined ? "failed" : "connected");
    }
    if (!news) return undefined;
    return { begun: this.#begun, done: this.#done, settled: Object.fromEntries(this.#settled) };
  }
}
