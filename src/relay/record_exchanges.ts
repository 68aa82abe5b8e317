import { REDACTED } from "../redaction/redact_pieces.ts";
import { secretScrub } from "../redaction/secret_scrub.ts";
import { SESSION_HEADER } from "./conversation_header.ts";
import { encodeExchange } from "./exchanges/exchange.ts";
import { addExchange } from "./exchanges/exchange_folder.ts";
import { keyOf } from "./exchanges/request_key.ts";
import type { Answer } from "./relay.ts";
import { recorderOf, withoutSecrets } from "./recorded_answer.ts";
import { watched } from "./watched.ts";

/**
 * Writes each exchange into a folder once it is over, without secrets, and answers nothing by itself: also what was asked
 * before goes on to whoever answers.
 *
 * @param options.taken takes how many secrets were taken out of an exchange
 * @param options.tell takes a sentence on what could not be written; the asker is answered all the same
 */
export function recordExchanges(
  answer: Answer,
  { folder, redact, taken, tell }: {
    readonly folder: string;
    readonly redact: (text: string) => string;
    readonly taken: (secrets: number) => void;
    readonly tell: (line: string) => void;
  },
): Answer {
  const scrub = secretScrub(redact);
  return watched(answer, (asked) =>
    recorderOf({
      request: withoutSecrets(asked, redact),
      conversation: asked.headers.get(SESSION_HEADER) ?? undefined,
    }, {
      scrub,
      keep: (exchange) => {
        try {
          addExchange(folder, { exchange, key: keyOf(exchange.request) });
          taken(encodeExchange(exchange).split(REDACTED).length - 1);
        } catch (error) {
          tell((error as Error).message);
        }
      },
      end: () => {},
    }));
}
