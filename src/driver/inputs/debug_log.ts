import { fileAt } from "../../../ffi/files/at_path.ts";
import { followLines } from "./transcript_source.ts";
import { compactText, type Screen } from "../../conversation/terminal/screen.ts";
import type { ApiFault, ApiRetry } from "../../conversation/control/input.ts";

/**
 * Follows the child's debug log, as `followLines` does; what is in it already is nobody's business.
 *
 * A caller may have named a pipe: it is not this program that reads from it.
 */
export function followLog(path: string): () => readonly string[] {
  const present = fileAt(path);
  return present === undefined || present.isFile
    ? followLines(() => path, { from: present?.size })
    : () => [];
}

/**
 * What Claude Code logs of a request that failed, at the level `error`, and of a stream that broke off, at `warn`
 * (2.1.330). Neither says whether another request follows, nor when.
 */
const FAILED_REQUEST = /\bAPI error \(attempt (\d+)\/(\d+)\): (\d{3})?/u;
const BROKEN_STREAM = "Stream connection error ";
const RETRIED_STREAM = / retrying streaming \((\d+)\/(\d+)\)/u;

/** How the screen, its white space removed, tells that a request is repeated; the time counts down. */
const NOTICE = /[Rr]etryingin((?:\d+[hms])+)·attempt(\d+)\/(\d+)/gu;

/** How long the screen may take to tell of a retry: at least 0.5 s pass until the next request. */
const PATIENCE_MS = 2000;

/**
 * Learns that requests to the API fail and are made again.
 *
 * No hook and no line of the transcript tells. The screen says that there will be another request, which one and
 * when, but of the first ones not why; the debug log says why. So the log gives the sign to look at the screen, and
 * a run without a failing request never looks.
 */
export class RetrySource {
  readonly #newLines: () => readonly string[];
  #fault: { readonly fault: ApiFault; readonly seenAt: number } | undefined;

  /** @param newLines gives the lines of the child's debug log since the last call */
  constructor(newLines: () => readonly string[]) {
    this.#newLines = newLines;
  }

  /**
   * The requests that have failed since the last time.
   *
   * @param at milliseconds on a clock that only goes forward
   */
  faults(at: number): readonly ApiFault[] {
    const faults = this.#newLines().map(parseFault).filter((fault) => fault !== undefined);
    const fault = faults.at(-1);
    if (fault !== undefined) this.#fault = { fault, seenAt: at };
    return faults;
  }

  /**
   * The retry that the screen has announced since the last time.
   *
   * @param options.at milliseconds on the same clock
   * @param options.look renders the child's screen; called only while a failed request is fresh
   */
  async findRetry(
    { at, look }: { readonly at: number; readonly look: () => Promise<Screen> },
  ): Promise<ApiRetry | undefined> {
    if (this.#fault === undefined) return undefined;
    const { fault, seenAt } = this.#fault;
    const notice = findNotice(await look());
    if (notice?.attempt === fault.attempt) {
      this.#fault = undefined;
      return { ...notice, status: fault.status };
    }
    // It was the last one, or one that is not made again, or a subagent's.
    if (at - seenAt > PATIENCE_MS) this.#fault = undefined;
    return undefined;
  }
}

function parseFault(line: string): ApiFault | undefined {
  const request = FAILED_REQUEST.exec(line);
  if (request !== null) {
    const [, attempt, requests, status] = request;
    return {
      attempt: Number(attempt),
      maxRetries: Number(requests) - 1,
      status: status === undefined ? null : Number(status),
    };
  }
  const broken = line.indexOf(BROKEN_STREAM);
  const stream = broken < 0 ? null : RETRIED_STREAM.exec(line.slice(broken));
  if (stream === null) return undefined;
  return { attempt: Number(stream[1]), maxRetries: Number(stream[2]), status: null };
}

/** The last notice on the screen: what the assistant wrote stands above it. */
function findNotice(screen: Screen): Omit<ApiRetry, "status"> | undefined {
  const found = [...compactText(screen).matchAll(NOTICE)].at(-1);
  if (found === undefined) return undefined;
  const [, time = "", attempt, maxRetries] = found;
  return {
    attempt: Number(attempt),
    maxRetries: Number(maxRetries),
    delayMs: parseDuration(time),
  };
}

/** A time such as `1m30s`. */
function parseDuration(time: string): number {
  const unit: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000 };
  return [...time.matchAll(/(\d+)([hms])/gu)]
    .reduce((sum, [, count, name = ""]) => sum + Number(count) * (unit[name] ?? 0), 0);
}

/** What a child's debug log tells of its connections to MCP servers. */
interface McpConnections {
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
const CONNECTION_LINE =
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
      const [, server, begins, connected] = CONNECTION_LINE.exec(line) ?? [];
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
