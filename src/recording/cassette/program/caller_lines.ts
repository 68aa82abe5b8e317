import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { isTooDeep } from "../../../claude/wire/json_text.ts";
import { parseRequestId, type RequestId } from "../../../claude/wire/control.ts";
import { type Difference, firstDifference } from "../../relay/match_requests.ts";
import { blankText } from "../../redaction/blank_text.ts";
import { redactedGaps } from "../../redaction/redact_pieces.ts";
import type { TapeEntry } from "../cassette_format.ts";
import { createTraceScrubber, fillNeutral, fillSameLength } from "../../redaction/scrub_traces.ts";
import { collectTraces, type KnownTraces } from "../../redaction/known_traces.ts";

/** The parts of a caller's line, on a tape or live, that a replay needs. */
export type CallerLine =
  /** A prompt; `uuid` is absent if the caller gave none. */
  | { readonly kind: "message"; readonly message: JsonObject; readonly uuid?: string }
  /** A request of the control protocol; `request` includes the subtype. */
  | (RequestId & {
    readonly kind: "request";
    readonly subtype: string;
    readonly request: JsonObject;
  })
  /** The answer to a question; `response` has the answer, or the error, and its subtype. */
  | { readonly kind: "answer"; readonly id: string; readonly response: JsonObject }
  /** A line that needs no answer and is no answer. */
  | { readonly kind: "ignored"; readonly type: string }
  /** Any other line; `what` describes it for an error: "a line that is not JSON". */
  | { readonly kind: "unknown"; readonly what: string };

const IGNORED: ReadonlySet<string> = new Set([
  ...["keep_alive", "control_cancel_request", "update_environment_variables"],
]);

/**
 * Parses a line of the caller. Never throws.
 *
 * @returns undefined for an empty line
 */
export function parseCallerLine(line: string): CallerLine | undefined {
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
      return { kind: "request", ...parseRequestId(value), subtype: request["subtype"], request };
    case "control_response":
      if (!isJsonObject(response) || typeof response["request_id"] !== "string") {
        return { kind: "unknown", what: "a control response to nothing" };
      }
      return { kind: "answer", id: response["request_id"], response };
    default:
      if (typeof type !== "string") return { kind: "unknown", what: "an object without a type" };
      return IGNORED.has(type)
        ? { kind: "ignored", type }
        : { kind: "unknown", what: `a line of type "${type}"` };
  }
}

/** The result of comparing a live line of the caller with the recorded line. */
export interface LineComparison {
  /** The first difference in words, with its place as a JSON pointer; absent if there is none. */
  readonly difference?: string;
  /** Why a part was not compared, in words; absent if every part was compared. */
  readonly uncompared?: string;
}

/** The removed parts of a tape. */
interface TapeScrubbing {
  /** The parts that were blanked, as `meta.json` lists them. */
  readonly blanked: readonly string[];
  /** Removes the same parts from live lines; absent if that is impossible. */
  readonly redaction?: LiveRedaction;
}

/**
 * Compares a live line with the recorded line. First removes from the live line the parts that were removed from the
 * tape.
 *
 * The order of an object's fields does not count. A recorded text whose removed part is unknown equals every live text
 * of the same shape; `uncompared` then says so.
 */
export function compareLines(
  recorded: unknown,
  live: unknown,
  scrubbing: TapeScrubbing,
): LineComparison {
  const reasons = new Set<string>();
  const aligned = alignWith(recorded, live, { ...scrubbing, reasons });
  const found = firstDifference(JSON.stringify(recorded) ?? "", JSON.stringify(aligned) ?? "");
  if (found !== undefined) return { difference: describe(found) };
  return reasons.size > 0 ? { uncompared: [...reasons].join(", and ") } : {};
}

/** A message whose content is a list of blocks. A text equals one block of text. */
export function comparableMessage({ content, ...rest }: JsonObject): JsonObject {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  return { ...rest, content: blocks };
}

function describe({ pointer, recorded, asked }: Difference): string {
  const place = pointer === "" ? "" : ` as ${pointer}`;
  return `the tape has ${recorded ?? "nothing"}${place}, and the caller wrote ${
    asked ?? "nothing"
  }`;
}

interface AlignOptions extends TapeScrubbing {
  /** Receives the reason each time that texts count as equal without a comparison. */
  readonly reasons: Set<string>;
}

/**
 * The live value with its fields in the order of the recorded value. Texts that are equal are replaced by the recorded
 * texts.
 */
function alignWith(recorded: unknown, live: unknown, options: AlignOptions): unknown {
  if (typeof live === "string" && typeof recorded === "string") {
    return isSameText(live, recorded, options) ? recorded : live;
  }
  if (Array.isArray(live) && Array.isArray(recorded)) {
    return live.map((each, index) => alignWith(recorded[index], each, options));
  }
  if (!isJsonObject(live) || !isJsonObject(recorded)) return live;
  const names = new Set(
    [...Object.keys(recorded), ...Object.keys(live)].filter((name) => Object.hasOwn(live, name)),
  );
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      alignWith(Object.hasOwn(recorded, name) ? recorded[name] : undefined, live[name], options),
    ]),
  );
}

/** Whether two texts are equal, or may be equal. If that cannot be decided, adds a reason. */
function isSameText(
  live: string,
  recorded: string,
  { blanked, redaction, reasons }: AlignOptions,
): boolean {
  if (live === recorded || redaction?.isSame(live, recorded)) return true;
  if (redactedGaps(live, recorded) !== undefined) {
    reasons.add("a secret was taken out of the tape");
    return true;
  }
  if (blanked.length === 0 || !isBlankingOf(recorded, live)) return false;
  reasons.add(
    blanked.includes("prompts") || blanked.includes("answers")
      ? "the tape was blanked, and has the shape alone"
      : "letters were blanked on the tape",
  );
  return true;
}

/** Whether a recorded text is the live one with some or all letters and digits blanked. */
function isBlankingOf(recorded: string, live: string): boolean {
  if (recorded.length !== live.length) return false;
  const blank = blankText(live);
  for (let at = 0; at < live.length; at++) {
    if (recorded[at] !== live[at] && recorded[at] !== blank[at]) return false;
  }
  return true;
}

/**
 * Removes from the texts of a replay the parts that redaction removed from the recording, so that both can be
 * compared.
 */
export interface LiveRedaction {
  /** Whether a live text equals a recorded text after the removal of the same parts from both. */
  readonly isSame: (live: string, recorded: string) => boolean;
}

/** A mail address in which every letter is blanked. */
const BLANKED_ADDRESS = /[x_%+-][x._%+-]*@[x-]+(?:\.[x-]+)+/gu;

/**
 * Creates a redaction of live texts that matches a tape's: it removes secrets, and traces of machine and user if the
 * tape was scrubbed of them. The tape may come from this user and machine, or from another one.
 *
 * @param options.blanked the removed parts of the tape, in addition to secrets
 * @param options.known the traces of the machine and the user of this run
 * @param options.secrets removes secrets
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
    return { isSame: (live, recorded) => secrets(live) === recorded };
  }
  const onTape = collectTraces();
  for (const entry of tape) if (entry.dir === "read") onTape.value(entry.frame);
  const [here, there] = [collectTraces(known).known(), onTape.known()];
  const scrubSameLength = createTraceScrubber(here, fillSameLength(here)).text;
  const anonymizeLive = createTraceScrubber(here, fillNeutral(here)).text;
  const anonymizeRecorded = createTraceScrubber(there, fillNeutral(there)).text;
  return {
    isSame: (live, recorded) => {
      const text = secrets(live);
      return scrubSameLength(text) === recorded ||
        anonymizeLive(text) ===
          anonymizeRecorded(recorded.replace(BLANKED_ADDRESS, "user@example.com"));
    },
  };
}
