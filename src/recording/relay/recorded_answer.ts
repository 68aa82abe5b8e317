import { CliError } from "../../cli_error.ts";
import { secretScrub } from "../redaction/secret_scrub.ts";
import { createCutter } from "./exchanges/cut_as_it_came.ts";
import type { Chunk, Exchange, ExchangeRequest } from "./exchanges/exchange.ts";
import { isEventStream, scrubChunks, textOf } from "./exchanges/scrub_exchange.ts";
import { unwritten } from "./exchanges/exchange_folder.ts";
import { createLiveEvents, type LiveEvents } from "./live_events.ts";
import type { Slices } from "./sliced_work.ts";
import type { ExchangeWatcher } from "./watched.ts";

/** Headers of an answer that are about its moment alone, or the client's own. */
const UNKEPT = ["set-cookie", "date", "anthropic-organization-id"];

/** Most bytes of an answer that are recorded: it is held until it is over. */
const MAX_ANSWER = 192 * 1024 * 1024;

/** Who knows secrets. */
export interface Hiding {
  /** Takes the secrets out of a text. */
  readonly redact: (text: string) => string;
  /** Where in a text something begins that may be a secret with what follows. */
  readonly openFrom: (text: string) => number;
}

/** A request without secrets, and without its headers. */
export function withoutSecrets(
  { method, path, body }: ExchangeRequest,
  redact: (text: string) => string,
): ExchangeRequest {
  return { method, path: redact(path), body: redacted(body, redact) };
}

/** Bytes without secrets; what is no text has none that could be found. */
function redacted(
  bytes: Uint8Array<ArrayBuffer>,
  redact: (text: string) => string,
): Uint8Array<ArrayBuffer> {
  const text = textOf(bytes);
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
export function recorderOf(
  { request, conversation }: Pick<Exchange, "request"> & {
    readonly conversation: string | undefined;
  },
  { redact, openFrom, slices, keep, lose, end, begin, follow, most = MAX_ANSWER }: Hiding & {
    readonly slices: Slices;
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
  let events: LiveEvents | undefined;
  const cutter = createCutter((chunk) => chunks.push(chunk));
  const exchange = { at, ...(conversation === undefined ? {} : { conversation }), request };
  let failure: CliError | undefined;
  const isLost = () => size > most || failure !== undefined;
  return {
    onHead: ({ status, headers }) => {
      head = { status, headers: [...headers].filter(([name]) => !UNKEPT.includes(name)) };
      // In what is compressed no secret would be found.
      if (isEventStream(head.headers) && !headers.has("content-encoding")) {
        events = createLiveEvents({
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
          failure = unwritten(error);
        }
      })());
    },
    onEnd: ({ whole }) => {
      work.add((function* () {
        try {
          if (isLost()) {
            throw failure ?? unwritten(new Error(`its answer has more than ${most} bytes`));
          }
          // An upstream that said nothing has not answered.
          if (head !== undefined) {
            events?.end();
            const kept = events === undefined
              ? yield* scrubChunks(chunks, {
                isEvents: isEventStream(head.headers),
                scrub: secretScrub(redact),
              })
              : chunks;
            yield* keep({ ...exchange, response: { ...head, chunks: kept, whole } });
          }
        } catch (error) {
          // Nobody else would catch it: who was answered is long gone.
          lose(error instanceof CliError ? error : unwritten(error));
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
