import { type Chunk, type Exchange, type ExchangeRequest, joined } from "./exchanges/exchange.ts";
import type { ExchangeWatcher } from "./watched.ts";

/** Headers of an answer that are about its moment alone, or the client's own. */
const UNKEPT = ["set-cookie", "date", "anthropic-organization-id"];

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
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes;
  }
  const clean = redact(text);
  return clean === text ? bytes : new TextEncoder().encode(clean);
}

/**
 * Records what is answered to a request, once it is over.
 *
 * @param options.keep takes the exchange, if there was an answer
 * @param options.end called after that, in any case
 */
export function recorderOf(
  { request, conversation }: Pick<Exchange, "request"> & {
    readonly conversation: string | undefined;
  },
  { redact, keep, end }: {
    readonly redact: (text: string) => string;
    readonly keep: (exchange: Exchange) => void;
    readonly end: () => void;
  },
): ExchangeWatcher {
  const at = Date.now();
  const begun = performance.now();
  const chunks: Chunk[] = [];
  let head: Pick<Exchange["response"], "status" | "headers"> | undefined;
  return {
    onHead: ({ status, headers }) => {
      head = { status, headers: [...headers].filter(([name]) => !UNKEPT.includes(name)) };
    },
    onBytes: (bytes) => {
      chunks.push({ ms: Math.round(performance.now() - begun), bytes: new Uint8Array(bytes) });
    },
    onEnd: ({ whole }) => {
      // An upstream that said nothing has not answered.
      if (head !== undefined) {
        keep({
          at,
          ...(conversation === undefined ? {} : { conversation }),
          request,
          response: { ...head, chunks: cleanChunks(chunks, redact), whole },
        });
      }
      end();
    },
  };
}

/** The pieces of an answer without secrets. One that had some is a single piece: they may go across several. */
function cleanChunks(
  chunks: readonly Chunk[],
  redact: (text: string) => string,
): readonly Chunk[] {
  const [first] = chunks;
  if (first === undefined) return chunks;
  const all = joined(chunks);
  const clean = redacted(all, redact);
  return clean === all ? chunks : [{ ms: first.ms, bytes: clean }];
}
