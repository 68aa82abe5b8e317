import { type Difference, firstDifference } from "../../relay/exchanges/first_difference.ts";
import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import { blankText } from "../../redaction/traces/blanked/blank_text.ts";
import type { RecordedProgram } from "./program_step.ts";
import { redactedGaps } from "../../redaction/redact_pieces.ts";

/** How what the caller writes compares with what it wrote when it was recorded. */
export interface WrittenComparison {
  /** Where both differ first, in words, with the place as a JSON pointer; absent where they do not. */
  readonly difference?: string;
  /** Why some of it was not compared, in words; absent where all was. */
  readonly uncompared?: string;
}

/** What is known of what was taken out of a tape. */
export type Blanked = Pick<RecordedProgram, "blanked" | "redaction">;

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
