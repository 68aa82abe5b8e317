import { createSecretScrubber, REDACTED } from "../redaction/redact_pieces.ts";
import {
  type Bytes,
  type Chunk,
  decodeText,
  encodeChunk,
  encodeHead,
  encodePieces,
  type Exchange,
  type ExchangeRequest,
} from "./exchange.ts";
import { addExchangeInSteps, MAX_FILE, writeError } from "./exchange_folder.ts";
import { joinedBytes } from "../../joined_bytes.ts";
import { keyOf } from "./match_requests.ts";
import { type ByteSink, createChunkCutter, createEventRedactor } from "./event_lines.ts";
import { type ExchangeWatcher, type RelayAnswer, watchAnswers } from "./relay_server.ts";
import type { SlicedWork, SlicedWorker } from "./sliced_work.ts";
import { CliError } from "../../cli_error.ts";
import { isEventStream, scrubChunks } from "./scrub_exchange.ts";

/** The header in which Claude Code names its session. */
export const SESSION_HEADER = "x-claude-code-session-id";

/** Response headers that are not recorded, because they belong to the moment or to the account. */
const DROPPED_HEADERS = ["set-cookie", "date", "anthropic-organization-id"];

/** The maximum size of a recorded response, in bytes. It is in memory until it is complete. */
const MAX_ANSWER = 192 * 1024 * 1024;

/** Functions that find secrets. */
export interface SecretRedaction {
  /** Removes the secrets from a text. */
  readonly redact: (text: string) => string;
  /** Returns the first position of a possible secret that following text may complete. */
  readonly openFrom: (text: string) => number;
}

/** Returns a request without headers and secrets. */
export function redactRequest(
  { method, path, body }: ExchangeRequest,
  redact: (text: string) => string,
): ExchangeRequest {
  return { method, path: redact(path), body: redactBytes(body, redact) };
}

/** Redacts bytes. Secrets are found only in valid UTF-8. */
function redactBytes(bytes: Bytes, redact: (text: string) => string): Bytes {
  const text = decodeText(bytes);
  if (text === undefined) return bytes;
  const clean = redact(text);
  return clean === text ? bytes : new TextEncoder().encode(clean);
}

interface RecordingOptions extends SecretRedaction {
  readonly folder: string;
  readonly slices: SlicedWorker;
  /** Receives the number of secrets that were removed from an exchange. */
  readonly taken: (secrets: number) => void;
  /** Reports an exchange that could not be written. The client gets its answer anyway. */
  readonly tell: (line: string) => void;
}

/**
 * Records each exchange in a folder, without secrets. Event streams are also written while they arrive, so that little
 * is lost if this program is killed. Every request goes to the upstream, even if it is already recorded.
 */
export function recordExchanges(answer: RelayAnswer, options: RecordingOptions): RelayAnswer {
  const { folder, redact, taken, tell } = options;
  return watchAnswers(answer, (request) => {
    const unfinished = createUnfinishedWriter(options);
    return recordAnswer({
      request: redactRequest(request, redact),
      conversation: request.headers.get(SESSION_HEADER) ?? undefined,
    }, {
      ...options,
      ...unfinished,
      lose: ({ message }) => tell(message),
      keep: function* (exchange) {
        try {
          yield* addExchangeInSteps(folder, { exchange, key: keyOf(exchange.request) });
          unfinished.written();
          let secrets = 0;
          for (const piece of encodePieces(exchange)) {
            secrets += piece.split(REDACTED).length - 1;
            yield piece.length;
          }
          taken(secrets);
        } catch (error) {
          tell((error as Error).message);
        }
      },
    });
  });
}

/**
 * Writes an exchange while it arrives. Failures are ignored here, because writing the complete exchange reports them.
 */
function createUnfinishedWriter(
  { folder, redact, openFrom }: SecretRedaction & { readonly folder: string },
) {
  let file: UnfinishedFile | undefined;
  let redacted: Bytes[] = [];
  const { push } = createEventRedactor({
    redact,
    openFrom,
    take: (_, after) => redacted.push(after),
  });
  let isLost = false;
  return {
    begin: (exchange: Exchange) => {
      try {
        file = createUnfinishedFile(folder, { exchange, key: keyOf(exchange.request) });
      } catch {
        // The exchange is written when it is complete.
      }
    },
    follow: ({ ms, bytes }: Chunk) => {
      if (file === undefined || isLost) return;
      try {
        push(bytes);
        if (redacted.length > 0) file.add({ ms, bytes: joinedBytes(redacted) });
        redacted = [];
      } catch {
        isLost = true;
      }
    },
    written: () => file?.remove(),
    end: () => file?.close(),
  };
}

/** The file of an incomplete exchange. Readers see an exchange that broke off. */
interface UnfinishedFile {
  /** Adds a piece of the response, while the file stays readable. */
  readonly add: (chunk: Chunk) => void;
  readonly close: () => void;
  /** Removes the file, because the complete exchange is written. */
  readonly remove: () => void;
}

/**
 * Creates the file of an incomplete exchange.
 *
 * @param options.exchange the parts that are known
 * @throws {CliError} when it cannot be written
 */
export function createUnfinishedFile(
  folder: string,
  { exchange, key }: { readonly exchange: Exchange; readonly key: string },
): UnfinishedFile {
  const attempt = <Value>(act: () => Value): Value => {
    try {
      return act();
    } catch (cause) {
      throw writeError(cause);
    }
  };
  const path = `${folder}/${key.slice(0, 16)}-${crypto.randomUUID()}.part`;
  const file = attempt(() => {
    Deno.mkdirSync(folder, { recursive: true, mode: 0o700 });
    return Deno.openSync(path, { append: true, createNew: true, mode: 0o600 });
  });
  let left = MAX_FILE;
  const write = (text: string) =>
    attempt(() => {
      const bytes = new TextEncoder().encode(text);
      left -= bytes.length;
      // After the first piece that does not fit, no later piece is written.
      if (left < 0) return;
      for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
    });
  write(encodeHead(exchange));
  return {
    add: (chunk) => write(encodeChunk(chunk)),
    close: () => file.close(),
    remove: () => attempt(() => Deno.removeSync(path)),
  };
}

/** Functions that receive a recorded response. */
interface RecorderOptions extends SecretRedaction {
  readonly slices: SlicedWorker;
  /** Receives the exchange when an event stream begins. */
  readonly begin?: (exchange: Exchange) => void;
  /** Receives each piece of an event stream, before redaction. */
  readonly follow?: (chunk: Chunk) => void;
  /** Stores the exchange in steps, if there was a response. */
  readonly keep: (exchange: Exchange) => Iterable<number>;
  /** Receives the reason if a response is not stored. */
  readonly lose: (why: CliError) => void;
  /** Called after `keep` or `lose`, and also if there was no response. */
  readonly end: () => void;
  /** The maximum size of a response, in bytes. */
  readonly most?: number;
}

/**
 * Creates a watcher that records a response. An event stream is redacted while it arrives, any other response when it
 * is complete. The client waits for neither.
 */
export function recordAnswer(
  { request, conversation }: Pick<Exchange, "request"> & {
    readonly conversation: string | undefined;
  },
  options: RecorderOptions,
): ExchangeWatcher {
  return new AnswerRecorder({
    at: Date.now(),
    ...(conversation === undefined ? {} : { conversation }),
    request,
  }, options);
}

class AnswerRecorder implements ExchangeWatcher {
  readonly #exchange: Omit<Exchange, "response">;
  readonly #options: RecorderOptions;
  readonly #most: number;
  readonly #startedAt = performance.now();
  readonly #work: SlicedWork;
  #chunks: Chunk[] = [];
  readonly #cutter = createChunkCutter((chunk) => this.#chunks.push(chunk));
  #size = 0;
  #head: Pick<Exchange["response"], "status" | "headers"> | undefined;
  /** Redacts the response if it is an event stream. */
  #events: ByteSink | undefined;
  #failure: CliError | undefined;

  constructor(exchange: Omit<Exchange, "response">, options: RecorderOptions) {
    this.#exchange = exchange;
    this.#options = options;
    this.#most = options.most ?? MAX_ANSWER;
    this.#work = options.slices.begin();
  }

  onHead({ status, headers }: { readonly status: number; readonly headers: Headers }): void {
    const kept = [...headers].filter(([name]) => !DROPPED_HEADERS.includes(name));
    this.#head = { status, headers: kept };
    // No secret would be found in compressed data.
    if (!isEventStream(kept) || headers.has("content-encoding")) return;
    const { redact, openFrom, begin } = this.#options;
    this.#events = createEventRedactor({ redact, openFrom, take: this.#cutter.part, waits: WAITS });
    begin?.({ ...this.#exchange, response: { ...this.#head, chunks: [], whole: false } });
  }

  onBytes(arrived: Uint8Array): void {
    const ms = Math.round(performance.now() - this.#startedAt);
    this.#size += arrived.length;
    if (this.#isLost()) {
      this.#chunks = [];
      return;
    }
    const bytes = new Uint8Array(arrived);
    if (this.#events === undefined) this.#chunks.push({ ms, bytes });
    else this.#work.add(this.#redactInSteps({ ms, bytes }, this.#events));
  }

  onEnd({ whole }: { readonly whole: boolean }): void {
    this.#work.add(this.#keepInSteps(whole));
  }

  #isLost(): boolean {
    return this.#size > this.#most || this.#failure !== undefined;
  }

  *#redactInSteps({ ms, bytes }: Chunk, events: ByteSink): Generator<number, void> {
    if (this.#isLost()) return;
    try {
      this.#cutter.piece({ ms, size: bytes.length });
      for (let from = 0; from < bytes.length; from += STEP) {
        const step = bytes.subarray(from, from + STEP);
        this.#options.follow?.({ ms, bytes: step });
        events.push(step);
        yield step.length;
      }
    } catch (error) {
      this.#failure = writeError(error);
    }
  }

  *#keepInSteps(whole: boolean): Generator<number, void> {
    const { redact, keep, lose, end } = this.#options;
    try {
      if (this.#isLost()) {
        throw this.#failure ??
          writeError(new Error(`its answer has more than ${this.#most} bytes`));
      }
      // Without a head, there was no response.
      if (this.#head !== undefined) {
        this.#events?.end();
        const chunks = this.#events !== undefined
          ? this.#chunks
          : yield* scrubChunks(this.#chunks, {
            isEvents: isEventStream(this.#head.headers),
            scrub: createSecretScrubber(redact),
          });
        yield* keep({ ...this.#exchange, response: { ...this.#head, chunks, whole } });
      }
    } catch (error) {
      // The client has received its response, so no caller is left to catch this error.
      lose(error instanceof CliError ? error : writeError(error));
    }
    end();
  }
}

/** The number of characters of a text that always wait. No secret needs more to be recognised. */
const WAITS = 256;

/** The number of bytes of an event stream that are processed in one step. */
const STEP = 8 * 1024;
