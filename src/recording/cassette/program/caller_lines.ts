import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { isTooDeep } from "../../../claude/wire/json_text.ts";
import { type RequestId, requestId } from "../../../claude/wire/request_id.ts";
import { type Difference, firstDifference } from "../../relay/match_requests.ts";
import { blankText } from "../../redaction/blank_text.ts";
import { redactedGaps } from "../../redaction/redact_pieces.ts";
import type { TapeEntry } from "../cassette_format.ts";
import { createTraceScrubber, fillNeutral, fillSameLength } from "../../redaction/scrub_traces.ts";
import { collectTraces, type KnownTraces } from "../../redaction/known_traces.ts";

/** A line that the caller of a conversation writes, as far as a replay has to know it; the same for a tape and live. */
export type Written =
  /** Somebody's words; `uuid` where the caller names them. */
  | { readonly kind: "message"; readonly message: JsonObject; readonly uuid?: string }
  /** A request of the control protocol; `request` has its subtype. */
  | (RequestId & {
    readonly kind: "request";
    readonly subtype: string;
    readonly request: JsonObject;
  })
  /** The answer to a question; `response` is the whole envelope, which says whether it is one. */
  | { readonly kind: "answer"; readonly id: string; readonly response: JsonObject }
  /** What asks for nothing and is asked for by nothing. */
  | { readonly kind: "passing"; readonly type: string }
  /** Anything else: `what` says in words what it is. */
  | { readonly kind: "unknown"; readonly what: string };

/** Lines that no exchange is made of. */
const PASSING: ReadonlySet<string> = new Set([
  ...["keep_alive", "control_cancel_request", "update_environment_variables"],
]);

/**
 * Reads a line of the caller's. Never throws.
 *
 * @returns undefined for an empty line
 */
export function readWritten(line: string): Written | undefined {
  if (line.trim() === "") return undefined;
  if (isTooDeep(line)) return { kind: "unknown", what: "a line that is nested too deeply" };
  let value: unknown;
  try {
    value = JSON.parse(line.replace(/^\uFEFF/u, ""));
  } catch {
    return { kind: "unknown", what: "a line that is not JSON" };
  }
  if (!isJsonObject(value)) return { kind: "unknown", what: "a line that is no object" };
  const { type, message, uuid, request, response } = value;
  switch (type) {
    case "user":
      if (!isJsonObject(message)) return { kind: "unknown", what: "a message without any content" };
      return { kind: "message", message, ...(typeof uuid === "string" ? { uuid } : {}) };
    case "control_request":
      if (!isJsonObject(request) || typeof request["subtype"] !== "string") {
        return { kind: "unknown", what: "a control request without a subtype" };
      }
      return { kind: "request", ...requestId(value), subtype: request["subtype"], request };
    case "control_response":
      if (!isJsonObject(response) || typeof response["request_id"] !== "string") {
        return { kind: "unknown", what: "a control response to nothing" };
      }
      return { kind: "answer", id: response["request_id"], response };
    default:
      if (typeof type !== "string") return { kind: "unknown", what: "an object without a type" };
      return PASSING.has(type)
        ? { kind: "passing", type }
        : { kind: "unknown", what: `a line of type "${type}"` };
  }
}

/** How what the caller writes compares with what it wrote when it was recorded. */
export interface WrittenComparison {
  /** Where both differ first, in words, with the place as a JSON pointer; absent where they do not. */
  readonly difference?: string;
  /** Why some of it was not compared, in words; absent where all was. */
  readonly uncompared?: string;
}

/** What is known of what was taken out of a tape. */
interface Blanked {
  /** What was taken out besides secrets, as `meta.json` says. */
  readonly blanked: readonly string[];
  /** Takes the same out of a live text, where that can be done. */
  readonly redaction?: LiveRedaction;
}

/**
 * Compares what the caller writes with what it wrote when it was recorded, once the same was taken out of both.
 *
 * The order of an object's fields does not count. Where it cannot be known what was taken out of the recording, whatever
 * has the same shape passes, and is told not to have been compared.
 */
export function compareWritten(
  recorded: unknown,
  live: unknown,
  known: Blanked,
): WrittenComparison {
  const reasons = new Set<string>();
  const same = alike(live, recorded, { ...known, reasons });
  const found = firstDifference(JSON.stringify(recorded) ?? "", JSON.stringify(same) ?? "");
  return found !== undefined
    ? { difference: inWords(found) }
    : reasons.size > 0
    ? { uncompared: [...reasons].join(", and ") }
    : {};
}

/** A message, as the words or blocks that it says: one block of text says the same as the text alone. */
export function comparableMessage({ content, ...rest }: JsonObject): JsonObject {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return { ...rest, content: blocks };
}

function inWords({ pointer, recorded, asked }: Difference): string {
  const place = pointer === "" ? "" : ` as ${pointer}`;
  return `the tape has ${recorded ?? "nothing"}${place}, and the caller wrote ${
    asked ?? "nothing"
  }`;
}

/** A value with its fields in the order of another one, and as that one where it says no more than what was taken out. */
function alike(
  live: unknown,
  recorded: unknown,
  options: Blanked & { readonly reasons: Set<string> },
): unknown {
  if (typeof live === "string" && typeof recorded === "string") {
    return isAlike(live, recorded, options) ? recorded : live;
  }
  if (Array.isArray(live) && Array.isArray(recorded)) {
    return live.map((each, index) => alike(each, recorded[index], options));
  }
  if (!isJsonObject(live) || !isJsonObject(recorded)) return live;
  const names = new Set(
    [...Object.keys(recorded), ...Object.keys(live)].filter((name) => Object.hasOwn(live, name)),
  );
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      alike(live[name], Object.hasOwn(recorded, name) ? recorded[name] : undefined, options),
    ]),
  );
}

/** Whether two texts are the same as far as that can be known; notes what cannot. */
function isAlike(
  live: string,
  recorded: string,
  { blanked, redaction, reasons }: Blanked & { readonly reasons: Set<string> },
): boolean {
  if (live === recorded) return true;
  if (redaction !== undefined) {
    const { alike, asNobody } = redaction;
    if (alike(live) === recorded || asNobody.live(live) === asNobody.recorded(recorded)) {
      return true;
    }
  }
  if (redactedGaps(live, recorded) !== undefined) {
    reasons.add("a secret was taken out of the tape");
    return true;
  }
  if (blanked.length === 0 || !isBlankingOf(recorded, live)) return false;
  const isSaid = blanked.some((part) => part === "prompts" || part === "answers");
  reasons.add(
    isSaid ? "the tape was blanked, and has the shape alone" : "letters were blanked on the tape",
  );
  return true;
}

/** Whether a text is another one in which letters and digits were blanked, all or some. */
function isBlankingOf(recorded: string, live: string): boolean {
  if (recorded.length !== live.length) return false;
  const blank = blankText(live);
  for (let at = 0; at < live.length; at++) {
    if (recorded[at] !== live[at] && recorded[at] !== blank[at]) return false;
  }
  return true;
}

/** Takes out of what is written now what was taken out of what was written when it was recorded. */
export interface LiveRedaction {
  /** What the recording has of a text that is written now, if the same machine and user wrote it then. */
  readonly alike: (live: string) => string;
  /** A text as nobody would have written it, whoever it was: now, or when it was recorded. */
  readonly asNobody: {
    readonly live: (text: string) => string;
    readonly recorded: (text: string) => string;
  };
}

/** An address of mail of which no letter is left. */
const BLANKED_ADDRESS = /[x_%+-][x._%+-]*@[x-]+(?:\.[x-]+)+/gu;

/**
 * Creates it.
 *
 * @param options.blanked what was taken out of the tape besides secrets
 * @param options.known what is known of the machine on which it is played, and of its user
 * @param options.secrets takes secrets out
 */
export function createLiveRedaction(
  tape: readonly TapeEntry[],
  { blanked, known, secrets }: {
    readonly blanked: readonly string[];
    readonly known: Partial<KnownTraces>;
    readonly secrets: (text: string) => string;
  },
): LiveRedaction {
  if (!blanked.includes("traces")) {
    return { alike: secrets, asNobody: { live: secrets, recorded: (text) => text } };
  }
  const recorded = collectTraces();
  for (const entry of tape) if (entry.dir === "read") recorded.value(entry.frame);
  const [now, then] = [collectTraces(known).known(), recorded.known()];
  const alike = createTraceScrubber(now, fillSameLength(now)).text;
  const [live, old] = [now, then].map((each) =>
    createTraceScrubber(each, fillNeutral(each)).text
  ) as [
    (text: string) => string,
    (text: string) => string,
  ];
  return {
    alike: (text) => alike(secrets(text)),
    asNobody: {
      live: (text) => live(secrets(text)),
      recorded: (text) => old(text.replace(BLANKED_ADDRESS, "user@example.com")),
    },
  };
}
