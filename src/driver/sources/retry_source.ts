import { compactText, type Screen } from "../../session/terminal/screen.ts";
import type { ApiRetry } from "../../session/input.ts";

/** A request that failed, as the debug log tells it. */
interface Fault {
  readonly at: number;
  readonly attempt: number;
  readonly status: number | null;
}

/**
 * What Claude Code logs of a request that failed, at the level `error`, and of a stream that broke off, at `warn`
 * (2.1.168 to 2.1.330). Neither says whether another request follows, nor when.
 */
const FAILED_REQUEST = /\bAPI error \(attempt (\d+)\/\d+\): (\d{3})?/u;
const BROKEN_STREAM = "Stream connection error ";
const RETRIED_STREAM = / retrying streaming \((\d+)\//u;

/** How the screen, its white space removed, tells that a request is repeated; the time counts down. */
const NOTICE = /[Rr]etryingin((?:\d+[hms])+)·attempt(\d+)\/(\d+)/gu;

/** How long the screen may take to tell of a retry: at least 0.5 s pass until the next request. */
const PATIENCE_MS = 2000;

/**
 * Learns that Claude Code repeats a request to the API.
 *
 * No hook and no line of the transcript tells. The screen says that there will be another request, which one and
 * when, but of the first ones not why; the debug log says why. So the log gives the sign to look at the screen, and
 * a run without a failing request never looks.
 */
export class RetrySource {
  readonly #newLines: () => readonly string[];
  #fault: Fault | undefined;

  /** @param newLines gives the lines of the child's debug log since the last call */
  constructor(newLines: () => readonly string[]) {
    this.#newLines = newLines;
  }

  /**
   * The retry that has been announced since the last read.
   *
   * @param options.at milliseconds on a clock that only goes forward
   * @param options.look renders the child's screen; called only while a failed request is fresh
   */
  async read(
    options: { readonly at: number; readonly look: () => Promise<Screen> },
  ): Promise<ApiRetry | undefined> {
    for (const line of this.#newLines()) {
      const fault = faultIn(line);
      if (fault !== undefined) this.#fault = { at: options.at, ...fault };
    }
    const fault = this.#fault;
    if (fault === undefined) return undefined;
    const notice = noticeOn(await options.look());
    if (notice?.attempt === fault.attempt) {
      this.#fault = undefined;
      return { ...notice, status: fault.status };
    }
    // It was the last one, or one that is not made again, or a subagent's.
    if (options.at - fault.at > PATIENCE_MS) this.#fault = undefined;
    return undefined;
  }
}

function faultIn(line: string): Omit<Fault, "at"> | undefined {
  const request = FAILED_REQUEST.exec(line);
  if (request !== null) {
    const [, attempt, status] = request;
    return { attempt: Number(attempt), status: status === undefined ? null : Number(status) };
  }
  const broken = line.indexOf(BROKEN_STREAM);
  const stream = broken < 0 ? null : RETRIED_STREAM.exec(line.slice(broken));
  return stream === null ? undefined : { attempt: Number(stream[1]), status: null };
}

/** The last notice on the screen: what the assistant wrote stands above it. */
function noticeOn(screen: Screen): Omit<ApiRetry, "status"> | undefined {
  const found = [...compactText(screen).matchAll(NOTICE)].at(-1);
  if (found === undefined) return undefined;
  const [, time = "", attempt, maxRetries] = found;
  return {
    attempt: Number(attempt),
    maxRetries: Number(maxRetries),
    delayMs: milliseconds(time),
  };
}

/** A time such as `1m30s`. */
function milliseconds(time: string): number {
  const unit: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000 };
  return [...time.matchAll(/(\d+)([hms])/gu)]
    .reduce((sum, [, count, name = ""]) => sum + Number(count) * (unit[name] ?? 0), 0);
}
