import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import { fileAt } from "../../../ffi/files/at_path.ts";
import { CliError } from "../../cli_error.ts";
import type { KnownTraces } from "../redaction/known_traces.ts";
import {
  recordAnswer,
  redactRequest,
  type SecretRedaction,
  SESSION_HEADER,
} from "./record_exchanges.ts";
import {
  ExchangeFinder,
  type IdentifiedRequest,
  type KnownExchange,
  LruCache,
  type Nearest,
} from "./exchange_finder.ts";
import { type Exchange, type ExchangeRequest, joinChunks, type ScrubbedPart } from "./exchange.ts";
import {
  addExchangeInSteps,
  readExchange,
  readExchanges,
  removeStaleTempFiles,
} from "./exchange_folder.ts";
import { createExchangeScrubber, type ExchangeScrubber } from "./scrub_exchange.ts";
import { keyOf, type Match } from "./match_requests.ts";
import { errorAnswer, type Fault, type Faults } from "./faults.ts";
import {
  brokenAnswer,
  type RelayAnswer,
  type RelayedRequest,
  type Waiting,
  watchAnswers,
} from "./relay_server.ts";
import { createSlicedWorker, type SlicedWorker } from "./sliced_work.ts";
import { forwardedHeaders } from "./pass_on.ts";

/** How requests are answered from a folder of exchanges. */
export interface ApiCassetteOptions extends SecretRedaction {
  readonly folder: string;
  readonly match: Match;
  /** JSON pointers to parts of bodies that are ignored; not with `exact`. */
  readonly ignored: readonly string[];
  /** Asks the upstream for what is not recorded, and records the answer. If absent, such a request gets an error. */
  readonly record?: RelayAnswer;
  /** Factor by which answers are faster than they were recorded; 0 for no delay. */
  readonly speed: number;
  readonly faults: Faults;
  /** True if nothing else uses the bodies of requests. Their memory is then freed once they are answered. */
  readonly hasBodies?: boolean;
  /** Does long work on recorded answers. */
  readonly slices?: SlicedWorker;
  /** What is known of the caller. It is removed from requests if the recorded ones were scrubbed of traces. */
  readonly known?: Partial<KnownTraces>;
  /** Only exchanges of this time count, in milliseconds since the epoch; all by default. */
  readonly asked?: { readonly from: number; readonly until: number };
  /** Reports a failure in one sentence. */
  readonly tell: (line: string) => void;
}

/** Counts since the cassette was opened, in requests. */
export interface ApiCassetteStats {
  readonly requests: number;
  /** Answered by a recorded exchange. */
  readonly hits: number;
  /** Not recorded, and answered by an error. */
  readonly misses: number;
  readonly recorded: number;
  /** Answered by the upstream, but not written because of an error. */
  readonly unwritten: number;
  /** Sent to the upstream, and without an answer so far. */
  readonly unanswered: number;
  /** Answered by a fault of `--inject`. */
  readonly injected: number;
  /** How many exchanges the cassette has. */
  readonly exchanges: number;
}

export interface ApiCassette {
  readonly answer: RelayAnswer;
  readonly stats: () => ApiCassetteStats;
  /** Waits until the upstream has answered all requests, and the answers are written. */
  readonly settled: () => Promise<void>;
}

/** A request as it came, and as it is compared. */
interface CleanedRequest {
  readonly body: Uint8Array;
  readonly made: ExchangeRequest;
}

/** A request to the model. Only these count for faults. */
const MODEL_REQUEST = /\/v1\/messages(?:\?|$)/u;

/** Sizes of two caches in bytes: normalised requests, and answers that were replayed. */
const MAX_REQUEST_CACHE = 16 * 1024 * 1024;
const MAX_RESPONSE_CACHE = 32 * 1024 * 1024;
/** Estimated size of an object in addition to its bytes. */
const OBJECT_OVERHEAD = 200;

/** Tells clients of the API not to repeat the request: the answer would be the same. */
const NO_RETRY = { "x-should-retry": "false" };

/**
 * Opens a folder of exchanges. Requests are answered from it, and recorded if that fails and `record` is given.
 *
 * @throws {CliError} when an exchange cannot be read, or the folder is missing and nothing is to be recorded
 */
export function openApiCassette(options: ApiCassetteOptions): ApiCassette {
  const { folder, record, redact, tell, slices = createSlicedWorker() } = options;
  const { from, until } = options.asked ?? { from: 0, until: Infinity };
  if (record !== undefined) {
    makeFolder(folder);
    removeStaleTempFiles(folder);
  } else if (fileAt(folder) === undefined) {
    throw new CliError(`Cannot play ${folder}: there is no such folder`, {
      suggestion: "Name a cassette with a folder api, or record one with --on-miss record",
    });
  }
  /** Removes from requests what was removed from the recorded ones; undefined if they were not scrubbed. */
  let scrubber: ExchangeScrubber | undefined;
  /** Returns a request without secrets, scrubbed like the recorded ones. */
  const normalizeRequest = (request: ExchangeRequest): ExchangeRequest => {
    const made = redactRequest(request, redact);
    scrubber?.learn({ request: made });
    return scrubber?.request(made) ?? made;
  };
  const parts = new Set<ScrubbedPart>();
  const findAll = () =>
    new ExchangeFinder(
      Iterator.from(readExchanges(folder)).filter(({ exchange: { at } }) =>
        from <= at && at < until
      ).map(({ name, exchange }) => {
        for (const part of exchange.scrubbed ?? []) parts.add(part);
        return { name, exchange: { ...exchange, request: normalizeRequest(exchange.request) } };
      }),
      {
        ...options,
        grows: record !== undefined,
        read: (name) => {
          try {
            const exchange = readExchange(`${folder}/${name}`);
            return { ...exchange, request: normalizeRequest(exchange.request) };
          } catch {
            // The file was changed or removed, so it is not the nearest exchange.
            return undefined;
          }
        },
      },
    );
  let finder = findAll();
  if (parts.size > 0) {
    // The first pass has found what the recorded requests were scrubbed of.
    scrubber = createExchangeScrubber({ parts: [...parts], known: options.known ?? {} });
    finder = findAll();
  }
  const counts = { requests: 0, hits: 0, misses: 0, recorded: 0, unwritten: 0, injected: 0 };
  const inFlight = new Map<string, Promise<void>>();
  const cleaned = new LruCache<CleanedRequest>(MAX_REQUEST_CACHE);
  const played = new LruCache<Exchange["response"]>(MAX_RESPONSE_CACHE);
  let asked = 0;
  let forwarded = 0;

  /**
   * Normalises a request. A request that was made just before returns the same object, for which the finder has
   * computed everything.
   */
  const clean = (
    request: RelayedRequest,
  ): { readonly made: ExchangeRequest; readonly isRepeated: boolean } => {
    const { method, path, body } = request;
    // Comparing two bodies is much faster than normalising one.
    const key = `${crc32(body)} ${method} ${path}`;
    const known = cleaned.get(key);
    if (known !== undefined && Buffer.compare(known.body, body) === 0) {
      return { made: known.made, isRepeated: true };
    }
    const made = normalizeRequest(request);
    cleaned.set(key, {
      value: { body, made },
      weight: body.length + made.body.length + path.length + OBJECT_OVERHEAD,
    });
    return { made, isRepeated: false };
  };

  /** Reads a response. Recent ones are cached. */
  const readAgain = (name: string): Exchange["response"] => {
    const known = played.get(name);
    if (known !== undefined) return known;
    const { response: value } = readExchange(`${folder}/${name}`);
    const weight = value.chunks.reduce(
      (size, { bytes }) => size + bytes.length + OBJECT_OVERHEAD,
      OBJECT_OVERHEAD,
    );
    played.set(name, { value, weight });
    return value;
  };

  /** Returns the fault of `--inject` that this request meets. */
  const faultFor = ({ method, path }: RelayedRequest): Fault | undefined =>
    method === "POST" && MODEL_REQUEST.test(path) ? options.faults.get(++asked) : undefined;

  const forward = async (
    { request, waiting, conversation, known }: {
      readonly request: RelayedRequest;
      readonly waiting: Waiting;
      readonly conversation: string | undefined;
      readonly known: IdentifiedRequest;
    },
    ask: RelayAnswer,
  ): Promise<Response> => {
    forwarded++;
    const { promise, resolve } = Promise.withResolvers<void>();
    inFlight.set(known.key, promise);
    const end = () => {
      inFlight.delete(known.key);
      resolve();
    };
    const lose = ({ message }: Error) => {
      counts.unwritten++;
      tell(message);
    };
    const keep = function* (given: Exchange) {
      try {
        const exchange = scrubber === undefined ? given : yield* scrubber.inSteps(given);
        const name = yield* addExchangeInSteps(folder, { exchange, key: keyOf(exchange.request) });
        finder.add({ name, exchange });
        finder.count(known);
        counts.recorded++;
      } catch (error) {
        lose(error as Error);
      }
    };
    try {
      const recorder = () =>
        recordAnswer({ request: known.request, conversation }, {
          ...options,
          slices,
          keep,
          lose,
          end,
        });
      return await watchAnswers(ask, recorder)(request, waiting);
    } catch (error) {
      end();
      throw error;
    }
  };

  const play = ({ name }: KnownExchange, how: ReplayOptions): Response => {
    let response: Exchange["response"];
    try {
      response = readAgain(name);
    } catch (error) {
      // The file could be read when the cassette was opened, and was changed or removed since.
      counts.misses++;
      const { message } = error as Error;
      tell(message);
      return errorAnswer(503, { message, headers: NO_RETRY });
    }
    counts.hits++;
    return replayResponse(response, how);
  };

  const answer: RelayAnswer = async (request, waiting) => {
    counts.requests++;
    const fault = faultFor(request);
    if (fault !== undefined) {
      counts.injected++;
      if (fault.kind === "reset") return brokenAnswer();
      if (fault.kind === "status") {
        return errorAnswer(fault.status, { message: "This error was asked for by --inject" });
      }
      await sleep(fault.ms, waiting);
    }
    const conversation = request.headers.get(SESSION_HEADER) ?? undefined;
    const { made, isRepeated } = clean(request);
    const known = finder.identify({ request: made, conversation });
    // While recording, a failed answer is not replayed: the upstream is asked again.
    const usable = ({ status, whole }: KnownExchange) =>
      record === undefined || (whole && status < 400);
    for (;;) {
      const found = finder.take(known, { usable });
      if (found !== undefined) {
        // Freeing the body by hand spares the garbage collector many passes over a large heap.
        if (isRepeated && options.hasBodies === true) request.body.buffer.transfer(0);
        return play(found, { method: request.method, speed: options.speed, waiting });
      }
      if (record === undefined) break;
      const same = inFlight.get(known.key);
      if (same === undefined) {
        return await forward({ request, waiting, conversation, known }, record);
      }
      await same;
    }
    counts.misses++;
    const message = missMessage(known.request, finder.nearest(known));
    tell(message);
    return errorAnswer(503, { message, headers: NO_RETRY });
  };
  const stats = () => {
    const unanswered = forwarded - counts.recorded - counts.unwritten;
    return { ...counts, unanswered, exchanges: finder.size };
  };
  return {
    answer,
    stats,
    settled: async () => void await Promise.all(inFlight.values()),
  };
}

/** Creates the folder of a cassette that is recorded, so that it exists even if no request comes. */
function makeFolder(folder: string): void {
  try {
    Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    // Writing the first exchange fails with a reason.
  }
}

/** Says why a request has no answer, and how to get one. */
function missMessage(
  { method, path }: ExchangeRequest,
  nearest: Nearest | undefined,
): string {
  const what = `Nothing is recorded of this ${method} ${path.split("?")[0]}`;
  const how = "to record it, ask with --on-miss record";
  if (nearest === undefined) return `${what}, nor of any like it; ${how}`;
  const { name, difference } = nearest;
  if (difference === undefined) {
    return `${what}: that of ${name} has been given, and no other follows it; ${how}`;
  }
  const { part, pointer, recorded, asked } = difference;
  const where = pointer === "" ? `its ${part}` : pointer;
  return `${what}: the nearest, ${name}, differs first at ${where}, where ${
    recorded ?? "nothing"
  } was recorded and ${asked ?? "nothing"} is asked; ${how}`;
}

/** How a response is replayed. */
interface ReplayOptions {
  readonly method: string;
  /** Factor by which it is faster than it was recorded; 0 for no delay. */
  readonly speed: number;
  readonly waiting: Waiting;
}

/** What is computed once for each recorded response; it takes most of the time of a replay. */
interface ReplayedResponse {
  readonly head: { readonly status: number; readonly headers: [string, string][] };
  /** The joined body, if it is sent at once. */
  body?: Uint8Array<ArrayBuffer>;
}

const replayedResponses = new WeakMap<Exchange["response"], ReplayedResponse>();

/** Replays recorded bytes, at once or in their recorded rhythm. An answer that broke off breaks off again. */
function replayResponse(
  response: Exchange["response"],
  { method, speed, waiting }: ReplayOptions,
): Response {
  const { chunks, whole } = response;
  const known = replayedResponses.get(response) ?? { head: responseHead(response) };
  replayedResponses.set(response, known);
  const { head } = known;
  if (whole && (chunks.length === 0 || method === "HEAD")) return new Response(null, head);
  if (whole && speed === 0) return new Response(known.body ??= joinChunks(chunks), head);
  const begun = performance.now();
  const left = [...chunks];
  return new Response(
    new ReadableStream({
      async pull(controller) {
        const next = left.shift();
        if (next === undefined) {
          if (whole) controller.close();
          else controller.error(new Error("the recorded answer broke off here"));
          return;
        }
        if (speed > 0) await sleep(begun + next.ms / speed - performance.now(), waiting);
        controller.enqueue(next.bytes);
      },
    }),
    head,
  );
}

/** Drops headers of the connection: a file that was edited by hand may have a wrong length. */
function responseHead({ status, headers }: Exchange["response"]): ReplayedResponse["head"] {
  const passed = forwardedHeaders(new Headers(headers.map(([...pair]) => pair)));
  return { status, headers: [...passed] };
}

/** Waits some milliseconds, or until the client is gone. */
async function sleep(ms: number, { signal: gone }: Waiting): Promise<void> {
  if (ms <= 0 || gone.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  gone.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
