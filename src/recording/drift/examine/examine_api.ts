import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { eventLine } from "../../relay/exchanges/event_line.ts";
import { type Exchange, joined } from "../../relay/exchanges/exchange.ts";
import { readExchanges } from "../../relay/exchanges/exchange_folder.ts";
import { isEventStream, withoutCompression } from "../../relay/exchanges/scrub_exchange.ts";
import type { Findings } from "../findings.ts";
import type { Examiner } from "./examiner.ts";

/** A request of the model itself. */
const MODEL_REQUEST = /\/v1\/messages(?:\?|$)/u;
/** How Claude Code says in a request which version it is. */
const VERSION = /\bcc_version=(\d+\.\d+\.\d+)/u;

/**
 * Looks at what the model said in the exchanges of a folder.
 *
 * @returns how many answers were looked at
 * @throws {CliError} when an exchange cannot be read
 */
export function examineApi(
  folder: string,
  { examiner, findings }: { readonly examiner: Examiner; readonly findings: Findings },
): number {
  let answers = 0;
  for (const { name, exchange: { request, response } } of readExchanges(folder)) {
    if (request.method !== "POST" || !MODEL_REQUEST.test(request.path)) continue;
    examiner.learn(VERSION.exec(decoder.decode(request.body))?.[1]);
    let said = 0;
    const place = { path: `${folder}/${name}`, line: 0 };
    for (const value of saidIn(response)) {
      said++;
      if (value === undefined) {
        findings.add(UNREADABLE, { place });
        continue;
      }
      for (const found of examiner.api(value)) findings.add(found, { place });
    }
    if (said > 0) answers++;
  }
  return answers;
}

const decoder = new TextDecoder();

const UNREADABLE = {
  check: "frame rejected",
  where: "answer of the API",
  what: "it cannot be read as JSON",
} as const;

/**
 * The events of an answer, or the one object that it is; nothing in the place of one that cannot be read. Errors are no
 * answers, and where an answer breaks off, its last line is none.
 */
function saidIn(
  { status, whole, ...response }: Exchange["response"],
): readonly (JsonObject | undefined)[] {
  if (status >= 400) return [];
  const { headers, chunks } = withoutCompression(response);
  const text = decoder.decode(joined(chunks));
  const lines = isEventStream(headers)
    ? text.split(/\r\n|\n|\r/u).filter((line) => line.startsWith("data:"))
    : text === ""
    ? []
    : [`data: ${text}`];
  const values = lines.map((line) => eventLine(line).value)
    .filter((value) => value === undefined || isJsonObject(value));
  return whole || values.at(-1) !== undefined ? values : values.slice(0, -1);
}
