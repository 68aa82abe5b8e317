import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
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
    for (const value of saidIn(response)) {
      said++;
      const place = { path: `${folder}/${name}`, line: 0 };
      for (const found of examiner.api(value)) findings.add(found, { place });
    }
    if (said > 0) answers++;
  }
  return answers;
}

const decoder = new TextDecoder();

/** The events of an answer, or the one object that it is; errors are no answers. */
function saidIn({ status, ...response }: Exchange["response"]): readonly JsonObject[] {
  if (status >= 400) return [];
  const { headers, chunks } = withoutCompression(response);
  const text = decoder.decode(joined(chunks));
  const values = isEventStream(headers)
    ? text.split(/\r\n|\n|\r/u).map((line) => eventLine(line).value)
    : [eventLine(`data: ${text}`).value];
  return values.filter(isJsonObject);
}
