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

/** Where exchanges are recorded, and what is kept out of them. */
export interface RecordingOptions extends SecretRedaction {
  readonly folder: string;
  readonly slices: SlicedWorker;
  /** Takes how many secrets were taken out of an exchange. */
  readonly taken: (secrets: number) => void;
  /** Takes a sentence on what could not be written; the asker is answered all the same. */
  readonly tell: (line: string) => void;
}

/**
 * Writes each exchange into a folder, without secrets: a stream of events as it comes, so that whatever ends this program
 * leaves as much of it, and all as a whole once they are over. It answers nothing by itself: also what was asked before
 * goes on to whoever answers.
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

/** Writes down what comes of an exchange, as long as it is under way. Where that cannot be, it is told once it is over. */
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
        // Nothing of it is there until it is over.
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

/** The file of an exchange that is under way: whoever reads it finds one that has broken off. */
interface UnfinishedFile {
  /** Adds what has come of the answer, as long as the file can be read again. */
  readonly add: (chunk: Chunk) => void;
  /** Nothing more comes. */
  readonly close: () => void;
  /** The exchange is written as a whole. */
  readonly remove: () => void;
}

/**
 * Begins to write an exchange while it is under way.
 *
 * @param options.exchange as much of it as is known
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
      // What comes behind a piece that is left out is left out as well.
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

/** The header in which Claude Code says which session asks. */
export const SESSION_HEADER = "x-claude-code-session-id";

/** Headers of an answer that are about its moment alone, or the client's own. */
const DROPPED_HEADERS = ["set-cookie", "date", "anthropic-organization-id"];

/** Most bytes of an answer that are recorded: it is held until it is over. */
const MAX_ANSWER = 192 * 1024 * 1024;

/** Who knows secrets. */
export interface SecretRedaction {
  /** Takes the secrets out of a text. */
  readonly redact: (text: string) => string;
  /** Where in a text something begins that may be a secret with what follows. */
  readonly openFrom: (text: string) => number;
}

/** A request without secrets, and without its headers. */
export function redactRequest(
  { method, path, body }: ExchangeRequest,
  redact: (text: string) => string,
): ExchangeRequest {
  return { method, path: redact(path), body: redacted(body, redact) };
}

/** Bytes without secrets; what is no text has none that could be found. */
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
 * Records what is answered to a request, once it is over. From a stream of events secrets are taken out as it comes, from
 * what else is answered at its end; whoever is answered waits for neither.
 *
 * @param options.keep takes the exchange, if there was an answer, a little at a time
 * @param options.lose takes why there is none, though there was an answer
 * @param options.end called after that, in any case
 */
export function recordAnswer(
  { request, conversation }: Pick<Exchange, "request"> & {
    readonly conversation: string | undefined;
  },
  { redact, openFrom, slices, keep, lose, end, begin, follow, most = MAX_ANSWER }:
    & SecretRedaction
    & {
      readonly slices: SlicedWorker;
      /** Takes the exchange as it begins to be answered. */
      readonly begin?: (exchange: Exchange) => void;
      /** Takes each piece of a stream of events, with the secrets in it. */
      readonly follow?: (chunk: Chunk) => void;
      readonly keep: (exchange: Exchange) => Iterable<number>;
      readonly lose: (why: CliError) => void;
      /** Most bytes of the answer. */
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
      // In what is compressed no secret would be found.
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
          // An upstream that said nothing has not answered.
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
          // Nobody else would catch it: who was answered is long gone.
          lose(error instanceof CliError ? error : writeError(error));
        }
        end();
      })());
    },
  };
}

/** More than a secret has of which what follows it is not waited for, in characters. */
const WAITS = 256;

/** So many bytes of a stream of events are looked at in one step. */
const STEP = 8 * 1024;
