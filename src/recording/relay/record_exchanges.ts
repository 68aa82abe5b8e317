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
import { createChunkCutter, createEventRedactor, type EventRedactor } from "./event_lines.ts";
import { type ExchangeWatcher, type RelayAnswer, watchAnswers } from "./relay_server.ts";
import type { SlicedWorker } from "./sliced_work.ts";
import { CliError } from "../../cli_error.ts";
import { isEventStream, scrubChunks } from "./scrub_exchange.ts";

export interface RecordingOptions extends SecretRedaction {
  readonly folder: string;
  readonly slices: SlicedWorker;
  /** Receives how many secrets were removed from an exchange. */
  readonly taken: (secrets: number) => void;
  /** Reports what could not be written. The client gets its answer anyway. */
  readonly tell: (line: string) => void;
}

/**
 * Records each exchange in a folder, without secrets. Streams of events are also written while they arrive, so that
 * little is lost if this program is killed. Each request goes to the upstream, even one that is recorded.
 */
export function recordExchanges(answer: RelayAnswer, options: RecordingOptions): RelayAnswer {
  const { folder, redact, taken, tell } = options;
  return watchAnswers(answer, (asked) => {
    const underWay = createUnfinishedWriter(options);
    return recordAnswer({
      request: redactRequest(asked, redact),
      conversation: asked.headers.get(SESSION_HEADER) ?? undefined,
    }, {
      ...options,
      ...underWay,
      lose: ({ message }) => tell(message),
      keep: function* (exchange) {
        try {
          yield* addExchangeInSteps(folder, { exchange, key: keyOf(exchange.request) });
          underWay.written();
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

/** Writes an exchange while it arrives. Failures are ignored here: writing the complete exchange reports them. */
function createUnfinishedWriter(
  { folder, redact, openFrom }: SecretRedaction & { readonly folder: string },
) {
  let begun: UnfinishedFile | undefined;
  let known: Uint8Array<ArrayBuffer>[] = [];
  const { push } = createEventRedactor({ redact, openFrom, take: (_, after) => known.push(after) });
  let isLost = false;
  return {
    begin: (exchange: Exchange) => {
      try {
        begun = createUnfinishedFile(folder, { exchange, key: keyOf(exchange.request) });
      } catch {
        // The exchange is written when it is complete.
      }
    },
    follow: ({ ms, bytes }: Chunk) => {
      if (begun === undefined || isLost) return;
      try {
        push(bytes);
        if (known.length > 0) begun.add({ ms, bytes: joinedBytes(known) });
        known = [];
      } catch {
        isLost = true;
      }
    },
    written: () => begun?.remove(),
    end: () => begun?.close(),
  };
}

/** The file of an exchange that is not complete. Readers see an exchange that broke off. */
interface UnfinishedFile {
  /** Adds a piece of the response, as long as the file stays readable. */
  readonly add: (chunk: Chunk) => void;
  readonly close: () => void;
  /** Removes the file, because the complete exchange is written. */
  readonly remove: () => void;
}

/**
 * Creates the file of an exchange that is not complete.
 *
 * @param options.exchange as much as is known
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

/** The header in which Claude Code names its session. */
export const SESSION_HEADER = "x-claude-code-session-id";

/** Response headers that are not recorded: they belong to the moment or to the account. */
const DROPPED_HEADERS = ["set-cookie", "date", "anthropic-organization-id"];

/** The largest response that is recorded, in bytes; it is in memory until it is complete. */
const MAX_ANSWER = 192 * 1024 * 1024;

/** How secrets are found. */
export interface SecretRedaction {
  /** Removes the secrets from a text. */
  readonly redact: (text: string) => string;
  /** Returns where in a text something begins that may be a secret once more text follows. */
  readonly openFrom: (text: string) => number;
}

/** Returns a request without headers and secrets. */
export function redactRequest(
  { method, path, body }: ExchangeRequest,
  redact: (text: string) => string,
): ExchangeRequest {
  return { method, path: redact(path), body: redacted(body, redact) };
}

/** Redacts bytes. Secrets are only found in valid UTF-8. */
function redacted(
  bytes: Bytes,
  redact: (text: string) => string,
): Bytes {
  const text = decodeText(bytes);
  if (text === undefined) return bytes;
  const clean = redact(text);
  return clean === text ? bytes : new TextEncoder().encode(clean);
}

/**
 * Creates a watcher that records a response. An event stream is redacted as it arrives, any other response when it is
 * complete. The client waits for neither.
 *
 * @param options.keep stores the exchange in steps, if there was a response
 * @param options.lose receives the reason if a response is not stored
 * @param options.end called after either, in any case
 */
export function recordAnswer(
  { request, conversation }: Pick<Exchange, "request"> & {
    readonly conversation: string | undefined;
  },
  { redact, openFrom, slices, keep, lose, end, begin, follow, most = MAX_ANSWER }:
    & SecretRedaction
    & {
      readonly slices: SlicedWorker;
      /** Receives the exchange when the response begins. */
      readonly begin?: (exchange: Exchange) => void;
      /** Receives each piece of an event stream, not redacted. */
      readonly follow?: (chunk: Chunk) => void;
      readonly keep: (exchange: Exchange) => Iterable<number>;
      readonly lose: (why: CliError) => void;
      /** The largest response, in bytes. */
      readonly most?: number;
      readonly end: () => void;
    },
): ExchangeWatcher {
  const at = Date.now();
  const begun = performance.now();
  const work = slices.begin();
  let chunks: Chunk[] = [];
  let size = 0;
  let head: Pick<Exchange["response"], "status" | "headers"> | undefined;
  let events: EventRedactor | undefined;
  const cutter = createChunkCutter((chunk) => chunks.push(chunk));
  const exchange = { at, ...(conversation === undefined ? {} : { conversation }), request };
  let failure: CliError | undefined;
  const isLost = () => size > most || failure !== undefined;
  return {
    onHead: ({ status, headers }) => {
      head = { status, headers: [...headers].filter(([name]) => !DROPPED_HEADERS.includes(name)) };
      // No secret would be found in compressed data.
      if (isEventStream(head.headers) && !headers.has("content-encoding")) {
        events = createEventRedactor({
          redact,
          openFrom,
          take: cutter.part,
          waits: WAITS,
        });
        begin?.({ ...exchange, response: { ...head, chunks: [], whole: false } });
      }
    },
    onBytes: (given) => {
      const ms = Math.round(performance.now() - begun);
      size += given.length;
      if (isLost()) {
        chunks = [];
        return;
      }
      const bytes = new Uint8Array(given);
      if (events === undefined) {
        chunks.push({ ms, bytes });
        return;
      }
      const { push } = events;
      work.add((function* () {
        if (isLost()) return;
        try {
          cutter.piece({ ms, size: bytes.length });
          for (let from = 0; from < bytes.length; from += STEP) {
            const step = bytes.subarray(from, from + STEP);
            follow?.({ ms, bytes: step });
            push(step);
            yield step.length;
          }
        } catch (error) {
          failure = writeError(error);
        }
      })());
    },
    onEnd: ({ whole }) => {
      work.add((function* () {
        try {
          if (isLost()) {
            throw failure ?? writeError(new Error(`its answer has more than ${most} bytes`));
          }
          // Without a head there was no response.
          if (head !== undefined) {
            events?.end();
            const kept = events === undefined
              ? yield* scrubChunks(chunks, {
                isEvents: isEventStream(head.headers),
                scrub: createSecretScrubber(redact),
              })
              : chunks;
            yield* keep({ ...exchange, response: { ...head, chunks: kept, whole } });
          }
        } catch (error) {
          // The client got its response, so no caller is left to catch this error.
          lose(error instanceof CliError ? error : writeError(error));
        }
        end();
      })());
    },
  };
}

/** How many characters of a text wait in any case; more than a secret needs to be recognised. */
const WAITS = 256;

/** How many bytes of an event stream are processed in one step. */
const STEP = 8 * 1024;
