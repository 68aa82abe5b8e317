import { REDACTED } from "../redaction/redact_pieces.ts";
import { secretScrub } from "../redaction/secret_scrub.ts";
import { SESSION_HEADER } from "./conversation_header.ts";
import { beginExchange, type BegunExchange } from "./exchanges/begin_exchange.ts";
import { type Chunk, encodeExchange, type Exchange } from "./exchanges/exchange.ts";
import { addExchange } from "./exchanges/exchange_folder.ts";
import { keyOf } from "./exchanges/request_key.ts";
import { isEventStream } from "./exchanges/scrub_exchange.ts";
import { createLiveEvents } from "./live_events.ts";
import type { RelayAnswer } from "./relay.ts";
import { recorderOf, withoutSecrets } from "./recorded_answer.ts";
import { watched } from "./watched.ts";

/** Where exchanges are recorded, and what is kept out of them. */
export interface RecordingOptions {
  readonly folder: string;
  /** Takes the secrets out of a text. */
  readonly redact: (text: string) => string;
  /** Where in a text something begins that may be a secret with what follows. */
  readonly openFrom: (text: string) => number;
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
  const scrub = secretScrub(redact);
  return watched(answer, (asked) => {
    const underWay = followExchange(options);
    return recorderOf({
      request: withoutSecrets(asked, redact),
      conversation: asked.headers.get(SESSION_HEADER) ?? undefined,
    }, {
      scrub,
      ...underWay,
      lose: ({ message }) => tell(message),
      keep: (exchange) => {
        try {
          addExchange(folder, { exchange, key: keyOf(exchange.request) });
          underWay.written();
          taken(encodeExchange(exchange).split(REDACTED).length - 1);
        } catch (error) {
          tell((error as Error).message);
        }
      },
    });
  });
}

/** Writes down what comes of an exchange, as long as it is under way. Where that cannot be, it is told once it is over. */
function followExchange({ folder, redact, openFrom }: Omit<RecordingOptions, "taken" | "tell">) {
  let begun: BegunExchange | undefined;
  let push: ((bytes: Uint8Array) => void) | undefined;
  let known = "";
  return {
    begin: (exchange: Exchange) => {
      const { headers } = exchange.response;
      // What else is answered comes at once; in what is compressed no secret would be found.
      const isEncoded = headers.some(([name]) => name === "content-encoding");
      if (!isEventStream(headers) || isEncoded) return;
      try {
        begun = beginExchange(folder, { exchange, key: keyOf(exchange.request) });
        push = createLiveEvents({ redact, openFrom, take: (line) => known += line });
      } catch {
        // Nothing of it is there until it is over.
      }
    },
    follow: ({ ms, bytes }: Chunk) => {
      try {
        push?.(bytes);
        if (known !== "") begun?.add({ ms, bytes: new TextEncoder().encode(known) });
        known = "";
      } catch {
        push = undefined;
      }
    },
    written: () => begun?.remove(),
    end: () => begun?.close(),
  };
}
