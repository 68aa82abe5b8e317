import { followLines } from "./follow_lines.ts";

/** How many connections to MCP servers a child has begun, and how many of them it has done with. */
export interface McpConnections {
  readonly begun: number;
  readonly done: number;
}

const BEGUN = /\[DEBUG\] MCP server ".*": Starting connection/u;
/**
 * That a server's tools are on offer is told by the remark on its channel notifications, some 40 ms after its connection
 * (2.1.197 and 2.1.330).
 */
const DONE = /\[DEBUG\] MCP server ".*": (?:Channel notifications|Connection failed)/u;

/** Learns from the child's debug log how far it is with its MCP servers: nothing else tells. */
export class McpSource {
  readonly #newLines: () => readonly string[];
  #begun = 0;
  #done = 0;

  constructor(logPath: string) {
    this.#newLines = followLines(() => logPath);
  }

  /** The connections so far, if there is news of them since the last read. */
  read(): McpConnections | undefined {
    let news = false;
    for (const line of this.#newLines()) {
      if (BEGUN.test(line)) this.#begun++;
      else if (DONE.test(line)) this.#done++;
      else continue;
      news = true;
    }
    return news ? { begun: this.#begun, done: this.#done } : undefined;
  }
}
