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

/** Options for answering requests from a folder of exchanges. */
export interface ApiCassetteOptions extends SecretRedaction {
  readonly folder: string;
  readonly match: Match;
  /** JSON pointers to the parts of request bodies that matching ignores. With `exact`, nothing is ignored. */
  readonly ignored: readonly string[];
  /** Asks the upstream for unrecorded responses, and records them. If absent, such a request gets an error. */
  readonly record?: RelayAnswer;
  /** Factor by which answers are faster than they were recorded; 0 for no delay. */
  readonly speed: number;
  readonly faults: Faults;
  /** True if nothing else uses the bodies of requests. Their memory is then freed after the answer. */
  readonly hasBodies?: boolean;
  /** Does long work on recorded answers. */
  readonly slices?: SlicedWorker;
  /**
   * The known facts about the caller. They are removed from requests if the recorded requests were scrubbed of traces.
   */
  readonly known?: Partial<KnownTraces>;
  /** The time range of the exchanges that count, in milliseconds since the epoch; all by default. */
  readonly asked?: { readonly from: number; readonly until: number };
  /** Reports a failure in one sentence. */
  readonly tell: (line: string) => void;
}

/** The numbers of requests since the cassette was opened. */
interface ApiCassetteStats {
  readonly requests: number;
  /** The number of requests that a recorded exchange answered. */
  readonly hits: number;
  /** The number of unrecorded requests that got an error. */
  readonly misses: number;
  readonly recorded: number;
  /** The number of requests that the upstream answered, but that were not written because of an error. */
  readonly unwritten: number;
  /** The number of requests that were sent to the upstream and have no answer yet. */
  readonly unanswered: number;
  /** The number of requests that a fault of `--inject` answered. */
  readonly injected: number;
  /** The number of exchanges in the cassette. */
  readonly exchanges: number;
}

/** A request in its original form, and in the form in which it is compared. */
interface NormalizedRequest {
  readonly body: Uint8Array;
  readonly normalized: ExchangeRequest;
}

/** A request that is being answered. */
interface PendingRequest {
  readonly request: RelayedRequest;
  readonly waiting: Waiting;
  readonly conversation: string | undefined;
  readonly identified: IdentifiedRequest;
}

/** A request to the model. Only these count for faults. */
const MODEL_REQUEST = /\/v1\/messages(?:\?|$)/u;

/** Sizes in bytes of the caches of normalised requests and of replayed answers. */
const MAX_REQUEST_CACHE = 16 * 1024 * 1024;
const MAX_RESPONSE_CACHE = 32 * 1024 * 1024;
/** Estimated size of an object in addition to its bytes. */
const OBJECT_OVERHEAD = 200;

/** Asks clients of the API not to repeat the request, because the answer would be equal. */
const NO_RETRY = { "x-should-retry": "false" };

/**
 * Opens a folder of exchanges. Requests are answered from it. If that fails and `record` is given, they are recorded.
 *
 * @throws {CliError} when an exchange cannot be read, or the folder is missing and nothing is to be recorded
 */
export function openApiCassette(options: ApiCassetteOptions): ApiCassette {
  const { folder, record } = options;
  if (record !== undefined) {
    makeExchangeFolder(folder);
    removeStaleTempFiles(folder);
  } else if (fileAt(folder) === undefined) {
    throw new CliError(`Cannot play ${folder}: there is no such folder`, {
      suggestion: "Name a cassette with a folder api, or record one with --on-miss record",
    });
  }
  return new ApiCassette(options);
}

class ApiCassette {
  readonly #options: ApiCassetteOptions;
  readonly #slices: SlicedWorker;
  readonly #finder: ExchangeFinder;
  /**
   * Removes from requests the parts that were removed from the recorded requests; undefined if they were not scrubbed.
   */
  readonly #scrubber: ExchangeScrubber | undefined;
  readonly #counts = { requests: 0, hits: 0, misses: 0, recorded: 0, unwritten: 0, injected: 0 };
  #modelRequests = 0;
  #forwarded = 0;
  /** By the key of a request that the upstream is answering, a promise that resolves when the answer is complete. */
  readonly #inFlight = new Map<string, Promise<void>>();
  readonly #requests = new LruCache<NormalizedRequest>(MAX_REQUEST_CACHE);
  readonly #responses = new LruCache<Exchange["response"]>(MAX_RESPONSE_CACHE);

  constructor(options: ApiCassetteOptions) {
    this.#options = options;
    this.#slices = options.slices ?? createSlicedWorker();
    const parts = new Set<ScrubbedPart>();
    const finder = this.#createFinder((part) => parts.add(part));
    if (parts.size > 0) {
      // The first pass has found which parts the recorded requests were scrubbed of.
      this.#scrubber = createExchangeScrubber({ parts: [...parts], known: options.known ?? {} });
    }
    this.#finder = parts.size > 0 ? this.#createFinder(() => {}) : finder;
  }

  /** @param onScrubbed receives each part that was scrubbed from the recorded requests */
  #createFinder(onScrubbed: (part: ScrubbedPart) => void): ExchangeFinder {
    const { folder, record, asked = { from: 0, until: Infinity } } = this.#options;
    const exchanges = Iterator.from(readExchanges(folder))
      .filter(({ exchange: { at } }) => asked.from <= at && at < asked.until)
      .map(({ name, exchange }) => {
        exchange.scrubbed?.forEach(onScrubbed);
        return { name, exchange: this.#withNormalizedRequest(exchange) };
      });
    return new ExchangeFinder(exchanges, {
      ...this.#options,
      grows: record !== undefined,
      read: (name) => {
        try {
          return this.#withNormalizedRequest(readExchange(`${folder}/${name}`));
        } catch {
          // The file was changed or removed, so this is not the nearest exchange.
          return undefined;
        }
      },
    });
  }

  #withNormalizedRequest(exchange: Exchange): Exchange {
    return { ...exchange, request: this.#normalize(exchange.request) };
  }

  /** Returns a request without secrets, scrubbed like the recorded ones. */
  #normalize(request: ExchangeRequest): ExchangeRequest {
    const redacted = redactRequest(request, this.#options.redact);
    this.#scrubber?.learn({ request: redacted });
    return this.#scrubber?.request(redacted) ?? redacted;
  }

  // An arrow function, because callers pass it on without the object.
  readonly answer: RelayAnswer = async (request, waiting) => {
    this.#counts.requests++;
    const fault = this.#faultFor(request);
    if (fault !== undefined) {
      this.#counts.injected++;
      if (fault.kind === "reset") return brokenAnswer();
      if (fault.kind === "status") {
        return errorAnswer(fault.status, { message: "This error was asked for by --inject" });
      }
      await sleep(fault.ms, waiting);
    }
    const { record, hasBodies = false } = this.#options;
    const conversation = request.headers.get(SESSION_HEADER) ?? undefined;
    const { normalized, isRepeated } = this.#normalizeOnce(request);
    const identified = this.#finder.identify({ request: normalized, conversation });
    for (;;) {
      const exchange = this.#finder.take(identified, { usable: this.#isUsable });
      if (exchange !== undefined) {
        // Freeing the body here saves the garbage collector many passes over a large heap.
        if (isRepeated && hasBodies) request.body.buffer.transfer(0);
        return this.#replay(exchange, { method: request.method, waiting });
      }
      if (record === undefined) return this.#miss(identified);
      const same = this.#inFlight.get(identified.key);
      if (same === undefined) {
        return await this.#forward({ request, waiting, conversation, identified }, record);
      }
      await same;
    }
  };

  /** Returns the fault of `--inject` that this request meets. */
  #faultFor({ method, path }: RelayedRequest): Fault | undefined {
    if (method !== "POST" || !MODEL_REQUEST.test(path)) return undefined;
    return this.#options.faults.get(++this.#modelRequests);
  }

  /**
   * Normalises a request. An equal request right after it returns the same object, for which the finder has already
   * computed everything.
   */
  #normalizeOnce(
    request: RelayedRequest,
  ): { readonly normalized: ExchangeRequest; readonly isRepeated: boolean } {
    const { method, path, body } = request;
    // Comparing two bodies is much faster than normalising one.
    const key = `${crc32(body)} ${method} ${path}`;
    const cached = this.#requests.get(key);
    if (cached !== undefined && Buffer.compare(cached.body, body) === 0) {
      return { normalized: cached.normalized, isRepeated: true };
    }
    const normalized = this.#normalize(request);
    this.#requests.set(key, {
      value: { body, normalized },
      weight: body.length + normalized.body.length + path.length + OBJECT_OVERHEAD,
    });
    return { normalized, isRepeated: false };
  }

  /** While recording, a failed answer is not replayed. The upstream is asked again instead. */
  readonly #isUsable = ({ status, whole }: KnownExchange): boolean =>
    this.#options.record === undefined || (whole && status < 400);

  #replay({ name }: KnownExchange, how: Omit<ReplayOptions, "speed">): Response {
    let response: Exchange["response"];
    try {
      response = this.#readResponse(name);
    } catch (error) {
      // The file was readable when the cassette was opened, and was changed or removed since.
      return this.#fail((error as Error).message);
    }
    this.#counts.hits++;
    return replayResponse(response, { ...how, speed: this.#options.speed });
  }

  /** Reads a response. Recent ones are cached. */
  #readResponse(name: string): Exchange["response"] {
    const cached = this.#responses.get(name);
    if (cached !== undefined) return cached;
    const { response: value } = readExchange(`${this.#options.folder}/${name}`);
    const weight = value.chunks.reduce(
      (size, { bytes }) => size + bytes.length + OBJECT_OVERHEAD,
      OBJECT_OVERHEAD,
    );
    this.#responses.set(name, { value, weight });
    return value;
  }

  #miss(identified: IdentifiedRequest): Response {
    return this.#fail(missMessage(identified.request, this.#finder.nearest(identified)));
  }

  #fail(message: string): Response {
    this.#counts.misses++;
    this.#options.tell(message);
    return errorAnswer(503, { message, headers: NO_RETRY });
  }

  /** Asks the upstream, and records what it answers. */
  async #forward(
    { request, waiting, conversation, identified }: PendingRequest,
    ask: RelayAnswer,
  ): Promise<Response> {
    this.#forwarded++;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#inFlight.set(identified.key, promise);
    const end = () => {
      this.#inFlight.delete(identified.key);
      resolve();
    };
    const recorder = () =>
      recordAnswer({ request: identified.request, conversation }, {
        ...this.#options,
        slices: this.#slices,
        keep: (exchange) => this.#addInSteps(exchange, identified),
        lose: (error) => this.#reportUnwritten(error),
        end,
      });
    try {
      return await watchAnswers(ask, recorder)(request, waiting);
    } catch (error) {
      end();
      throw error;
    }
  }

  *#addInSteps(recorded: Exchange, identified: IdentifiedRequest): Generator<number, void> {
    try {
      const exchange = this.#scrubber === undefined
        ? recorded
        : yield* this.#scrubber.inSteps(recorded);
      const key = keyOf(exchange.request);
      const name = yield* addExchangeInSteps(this.#options.folder, { exchange, key });
      this.#finder.add({ name, exchange });
      this.#finder.count(identified);
      this.#counts.recorded++;
    } catch (error) {
      this.#reportUnwritten(error as Error);
    }
  }

  #reportUnwritten({ message }: Error): void {
    this.#counts.unwritten++;
    this.#options.tell(message);
  }

  readonly stats = (): ApiCassetteStats => {
    const { recorded, unwritten } = this.#counts;
    const unanswered = this.#forwarded - recorded - unwritten;
    return { ...this.#counts, unanswered, exchanges: this.#finder.size };
  };

  /** Waits until the upstream has answered all requests, and all answers are written. */
  readonly settled = async (): Promise<void> => {
    await Promise.all(this.#inFlight.values());
  };
}

/** Creates the folder of a cassette that is recorded, so that it exists even if no request comes. */
function makeExchangeFolder(folder: string): void {
  try {
    Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch {
    // Writing the first exchange fails with a reason.
  }
}

/** Describes why a request has no answer, and how to get one. */
function missMessage(
  { method, path }: ExchangeRequest,
  nearest: Nearest | undefined,
): string {
  const what = `Nothing is recorded of this ${method} ${path.split("?")[0]}`;
  const how = "to record it, ask with --on-miss record";
  if (nearest === undefined) return `${what}, nor of any like it; ${how}`;
  const { name, difference } = nearest;
  if (difference === undefined) {
    return `${what}: all recorded responses for this request were used (last: ${name}); ${how}`;
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
  /** Factor by which the replay is faster than the recording; 0 for no delay. */
  readonly speed: number;
  readonly waiting: Waiting;
}

/** The values that are computed once for each recorded response. They take most of the time of a replay. */
interface ReplayedResponse {
  readonly head: { readonly status: number; readonly headers: [string, string][] };
  /** The joined body, if it is sent at once. */
  body?: Uint8Array<ArrayBuffer>;
}

const replayedResponses = new WeakMap<Exchange["response"], ReplayedResponse>();

/** Replays recorded bytes, immediately or in their recorded rhythm. An answer that broke off breaks off again. */
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

/** Drops headers of the connection, because a file that was edited by hand may have a wrong length. */
function responseHead({ status, headers }: Exchange["response"]): ReplayedResponse["head"] {
  const passed = forwardedHeaders(new Headers(headers.map(([...pair]) => pair)));
  return { status, headers: [...passed] };
}

/** Waits some milliseconds, or until the client has disconnected. */
async function sleep(ms: number, { signal: gone }: Waiting): Promise<void> {
  if (ms <= 0 || gone.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  gone.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}
