import type { CliError } from "../cli_error.ts";
import type { TextScrub } from "../redaction/traces/text_scrub.ts";
import type { Chunk, Exchange, ExchangeRequest } from "./exchanges/exchange.ts";
import { isEventStream, scrubChunks, textOf } from "./exchanges/scrub_exchange.ts";
import { unwritten } from "./exchanges/exchange_folder.ts";
import type { ExchangeWatcher } from "./watched.ts";

/** Headers of an answer that are about its moment alone, or the client's own. */
const UNKEPT = ["set-cookie", "date", "anthropic-organization-id"];

/** Most bytes of an answer that are recorded: it is held until it is over. */
const MAX_ANSWER = 192 * 1024 * 1024;

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
 * Records what is answered to a request, once it is over.
 *
 * @param options.keep takes the exchange, if there was an answer
 * @param options.lose takes why there is none, though there was an answer
 * @param options.end called after that, in any case
 */
export function recorderOf(
  { request, conversation }: Pick<Exchange, "request"> & {
    readonly conversation: string | undefined;
  },
  { scrub, keep, lose, end, begin, follow, most = MAX_ANSWER }: {
    /** Takes secrets out. */
    readonly scrub: TextScrub;
    /** Takes the exchange as it begins to be answered. */
    readonly begin?: (exchange: Exchange) => void;
    /** Takes each piece of the answer, with the secrets in it. */
    readonly follow?: (chunk: Chunk) => void;
    readonly keep: (exchange: Exchange) => void;
    readonly lose: (why: CliError) => void;
    /** Most bytes of the answer. */
    readonly most?: number;
    readonly end: () => void;
  },
): ExchangeWatcher {
  const at = Date.now();
  const begun = performance.now();
  const chunks: Chunk[] = [];
  let size = 0;
  let head: Pick<Exchange["response"], "status" | "headers"> | undefined;
  const known = { at, ...(conversation === undefined ? {} : { conversation }), request };
  return {
    onHead: ({ status, headers }) => {
      head = { status, headers: [...headers].filter(([name]) => !UNKEPT.includes(name)) };
      begin?.({ ...known, response: { ...head, chunks: [], whole: false } });
    },
    onBytes: (bytes) => {
      const ms = Math.round(performance.now() - begun);
      const chunk = { ms, bytes: new Uint8Array(bytes) };
      size += bytes.length;
      if (size > most) chunks.length = 0;
      else chunks.push(chunk);
      follow?.(chunk);
    },
    onEnd: ({ whole }) => {
      if (size > most) lose(unwritten(new Error(`its answer has more than ${most} bytes`)));
      // An upstream that said nothing has not answered.
      else if (head !== undefined) {
        keep({
          ...known,
          response: {
            ...head,
            chunks: scrubChunks(chunks, { isEvents: isEventStream(head.headers), scrub }),
            whole,
          },
        });
      }
      end();
    },
  };
}
