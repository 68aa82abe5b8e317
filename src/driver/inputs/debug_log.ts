import { fileAt } from "../../../ffi/files/at_path.ts";
import { followLines } from "./transcript_source.ts";
import { compactText, type Screen } from "../../conversation/terminal/screen.ts";
import type { ApiFault, ApiRetry } from "../../conversation/control/input.ts";

/**
 * Follows the child's debug log from its current end on.
 *
 * A caller may have named a pipe as the log. This program must not read from a pipe, because it would take the caller's
 * data.
 */
export function followLog(path: string): () => readonly string[] {
  const present = fileAt(path);
  return present === undefined || present.isFile
    ? followLines(() => path, { from: present?.size })
    : () => [];
}

/**
 * The log lines of a failed request, at the level `error`, and of a broken stream, at `warn` (2.1.330). Neither shows
 * whether or when the request is repeated.
 */
const FAILED_REQUEST = /\bAPI error \(attempt (\d+)\/(\d+)\): (\d{3})?/u;
const BROKEN_STREAM = "Stream connection error ";
const RETRIED_STREAM = / retrying streaming \((\d+)\/(\d+)\)/u;

/** The notice on the screen, without white space, that a request will be repeated. Its time counts down. */
const NOTICE = /[Rr]etryingin((?:\d+[hms])+)·attempt(\d+)\/(\d+)/gu;

/** How long the screen may take to show a retry, in milliseconds. The next request follows after 0.5 s at the earliest. */
const PATIENCE_MS = 2000;

/**
 * Finds retries of requests to the API.
 *
 * No hook and no transcript line reports them. The screen shows that a request will be repeated, and when. Only the
 * debug log has the reason of the first retries. So a line of the log makes the loop look at the screen, and a run
 * without a failed request renders no screen.
 */
export class RetrySource {
  readonly #newLines: () => readonly string[];
  #fault: { readonly fault: ApiFault; readonly seenAt: number } | undefined;

  /** @param newLines returns the lines of the child's debug log since the last call */
  constructor(newLines: () => readonly string[]) {
    this.#newLines = newLines;
  }

  /**
   * Returns the requests that have failed since the last call.
   *
   * @param at milliseconds on a monotonic clock
   */
  faults(at: number): readonly ApiFault[] {
    const faults = this.#newLines().map(parseFault).filter((fault) => fault !== undefined);
    const fault = faults.at(-1);
    if (fault !== undefined) this.#fault = { fault, seenAt: at };
    return faults;
  }

  /**
   * Returns the retry that the screen shows for the last failed request.
   *
   * @param options.at milliseconds on the same clock
   * @param options.look renders the child's screen; called only within `PATIENCE_MS` of a failed request
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
    // There is no retry: the attempt was the last one, its request cannot be repeated, or a subagent made it.
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

/** The last notice on the screen. The assistant's text above it may look like one. */
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

/** Parses a time such as `1m30s` into milliseconds. */
function parseDuration(time: string): number {
  const unit: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000 };
  return [...time.matchAll(/(\d+)([hms])/gu)]
    .reduce((sum, [, count, name = ""]) => sum + Number(count) * (unit[name] ?? 0), 0);
}

/** The child's connections to MCP servers, from its debug log. */
interface McpConnections {
  readonly begun: number;
  /** The number of connections that have succeeded or failed. */
  readonly done: number;
  /** The results by the name of the server. */
  readonly settled: Readonly<Record<string, "connected" | "failed">>;
}

/**
 * Matches only the beginning of a line, because the stderr of a server follows in a line of any length.
 *
 * The line about channel notifications comes some 40 ms after the connection, when the server's tools are available
 * (2.1.330). Older versions write it in a resumed session only after the SessionStart hooks.
 */
const CONNECTION_LINE =
  /^\S+ \[DEBUG\] MCP server "(.*)": (?:(Starting connection)|(Channel notifications)|Connection failed)/u;

/** Follows the child's connections to its MCP servers. Only the debug log shows them. */
export class McpSource {
  readonly #newLines: () => readonly string[];
  #begun = 0;
  #done = 0;
  readonly #settled = new Map<string, "connected" | "failed">();

  constructor(logPath: string) {
    this.#newLines = followLines(() => logPath);
  }

  /** Returns the connections so far, if one has changed since the last call. */
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
