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
  /** The folder of the exchanges. */
  readonly folder: string;
  readonly match: Match;
  /** Places of JSON bodies that do not count, as JSON pointers; not with `exact`. */
  readonly ignored: readonly string[];
  /** Asks the upstream what is not recorded, and records it; absent where nobody is asked. */
  readonly record?: RelayAnswer;
  /** How much faster than they came answers are given; 0 for at once. */
  readonly speed: number;
  readonly faults: Faults;
  /** Whether the bodies of requests are nobody else's: then their memory is given back as soon as they are answered. */
  readonly hasBodies?: boolean;
  /** Does what takes long of that which is recorded. */
  readonly slices?: SlicedWorker;
  /** What is known of whoever makes the requests: it is taken out of them where it was of those that are recorded. */
  readonly known?: Partial<KnownTraces>;
  /** When they were asked that count, in milliseconds since the epoch; all of them count by default. */
  readonly asked?: { readonly from: number; readonly until: number };
  /** Takes a sentence on what went wrong. */
  readonly tell: (line: string) => void;
}

/** What has happened so far, in numbers of requests. */
export interface ApiCassetteStats {
  readonly requests: number;
  /** Those that a recorded exchange has answered. */
  readonly hits: number;
  /** Those to which nothing is recorded, and nobody was asked. */
  readonly misses: number;
  readonly recorded: number;
  /** Exchanges that could not be written. */
  readonly unwritten: number;
  /** Those that were passed on, and of which nothing is recorded: nothing came, or nothing yet. */
  readonly unanswered: number;
  /** Those that have gone wrong on purpose. */
  readonly injected: number;
  /** Exchanges that are known. */
  readonly exchanges: number;
}

/** Answers requests to the Messages API. */
export interface ApiCassette {
  readonly answer: RelayAnswer;
  readonly stats: () => ApiCassetteStats;
  /** Waits until all that was asked of the upstream so far is answered, and written down. */
  readonly settled: () => Promise<void>;
}

/** A request as it came, and what it is without secrets. */
interface CleanedRequest {
  readonly body: Uint8Array;
  readonly made: ExchangeRequest;
}

/** A request of the model itself, which faults count. */
const MODEL_REQUEST = /\/v1\/messages(?:\?|$)/u;

/** How many bytes of requests without secrets are kept, and of answers that have been played. */
const MAX_REQUEST_CACHE = 16 * 1024 * 1024;
const MAX_RESPONSE_CACHE = 32 * 1024 * 1024;
/** What is reckoned for each object beside its bytes. */
const OBJECT_OVERHEAD = 200;

/** Says to clients of the API not to ask again: the answer stays the same. */
const NO_RETRY = { "x-should-retry": "false" };

/**
 * Answers requests from recorded exchanges, and records what is missing if it may.
 *
 * @throws {CliError} when an exchange of the folder cannot be read, or the folder is missing and not to be recorded
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
  /** Takes out of requests what was taken out of those that are recorded, if something was. */
  let scrubber: ExchangeScrubber | undefined;
  /** A request without secrets, and without what was taken out of those that are recorded. */
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
            // What is there of it by now comes near to nothing.
            return undefined;
          }
        },
      },
    );
  let finder = findAll();
  if (parts.size > 0) {
    // What all of them are rid of is known now.
    scrubber = createExchangeScrubber({ parts: [...parts], known: options.known ?? {} });
    finder = findAll();
  }
  const counts = { requests: 0, hits: 0, misses: 0, recorded: 0, unwritten: 0, injected: 0 };
  const inFlight = new Map<string, Promise<void>>();
  const cleaned = new LruCache<CleanedRequest>(MAX_REQUEST_CACHE);
  const played = new LruCache<Exchange["response"]>(MAX_RESPONSE_CACHE);
  let asked = 0;
  let forwarded = 0;

  /** A request as those that are recorded. Of one that has just been made the same is given again, for which nothing is computed. */
  const clean = (
    request: RelayedRequest,
  ): { readonly made: ExchangeRequest; readonly isRepeated: boolean } => {
    const { method, path, body } = request;
    // What it is known by takes much longer than to see that it is the same.
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

  /** What is to be played. What has just been played is not read again. */
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

  /** What goes wrong with a request on purpose. */
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
      // It was read before, and is broken or gone by now.
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
    // A request that was not answered well is not one that is known, as long as somebody can be asked.
    const usable = ({ status, whole }: KnownExchange) =>
      record === undefined || (whole && status < 400);
    for (;;) {
      const found = finder.take(known, { usable });
      if (found !== undefined) {
        // Else all that is in memory would be gone through for it again and again.
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

/** Makes the folder of a cassette that is recorded, so that it can be played whatever is asked. */
function makeFolder(folder: string): void {
  try {
    Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    // The first exchange that cannot be written says why.
  }
}

/** Why there is no answer, and how there would be one. */
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

/** How an exchange is played. */
interface ReplayOptions {
  readonly method: string;
  /** How much faster than it came; 0 for at once. */
  readonly speed: number;
  readonly waiting: Waiting;
}

/** What is made of an answer once, however often it is given: to make it anew would be most of the work. */
interface ReplayedResponse {
  readonly head: { readonly status: number; readonly headers: [string, string][] };
  /** The body of one that comes at once. */
  body?: Uint8Array<ArrayBuffer>;
}

const replayedResponses = new WeakMap<Exchange["response"], ReplayedResponse>();

/** Answers with the bytes that were recorded, at once or with their pacing, and breaks off where they do. */
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

/** What was written by hand may say how long it is. */
function responseHead({ status, headers }: Exchange["response"]): ReplayedResponse["head"] {
  const passed = forwardedHeaders(new Headers(headers.map(([...pair]) => pair)));
  return { status, headers: [...passed] };
}

/** Waits so many milliseconds, or until nobody waits any more. */
async function sleep(ms: number, { signal: gone }: Waiting): Promise<void> {
  if (ms <= 0 || gone.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  gone.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
