import { REDACTED } from "../redaction/redact_pieces.ts";
import { SESSION_HEADER } from "./conversation_header.ts";
import {
  type Chunk,
  encodeChunk,
  encodeHead,
  encodePieces,
  type Exchange,
} from "./exchanges/exchange.ts";
import { addInSteps, MAX_FILE, unwritten } from "./exchanges/exchange_folder.ts";
import { joinedBytes } from "../../joined_bytes.ts";
import { keyOf } from "./exchanges/request_key.ts";
import { createLiveEvents } from "./live_events.ts";
import type { RelayAnswer } from "./relay.ts";
import { type Hiding, recorderOf, withoutSecrets } from "./recorded_answer.ts";
import type { Slices } from "./sliced_work.ts";
import { watched } from "./watched.ts";

/** Where exchanges are recorded, and what is kept out of them. */
export interface RecordingOptions extends Hiding {
  readonly folder: string;
  readonly slices: Slices;
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
  return watched(answer, (asked) => {
    const underWay = followExchange(options);
    return recorderOf({
      request: withoutSecrets(asked, redact),
      conversation: asked.headers.get(SESSION_HEADER) ?? undefined,
    }, {
      ...options,
      ...underWay,
      lose: ({ message }) => tell(message),
      keep: function* (exchange) {
        try {
          yield* addInSteps(folder, { exchange, key: keyOf(exchange.request) });
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
function followExchange({ folder, redact, openFrom }: Hiding & { readonly folder: string }) {
  let begun: BegunExchange | undefined;
  let known: Uint8Array<ArrayBuffer>[] = [];
  const { push } = createLiveEvents({ redact, openFrom, take: (_, after) => known.push(after) });
  let isLost = false;
  return {
    begin: (exchange: Exchange) => {
      try {
        begun = beginExchange(folder, { exchange, key: keyOf(exchange.request) });
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
interface BegunExchange {
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
export function beginExchange(
  folder: string,
  { exchange, key }: { readonly exchange: Exchange; readonly key: string },
): BegunExchange {
  const attempt = <Value>(act: () => Value): Value => {
    try {
      return act();
    } catch (cause) {
      throw unwritten(cause);
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
