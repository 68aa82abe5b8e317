import { type Difference, firstDifference } from "../../relay/exchanges/first_difference.ts";
import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
import { blankText } from "../../redaction/traces/blank_text.ts";
import { redactedGaps } from "../../redaction/redact_pieces.ts";

/**
 * Where what the caller writes differs first from what it wrote when it was recorded.
 *
 * The order of an object's fields does not count, and where a secret was taken out of the recording, anything can stand.
 *
 * @param options.isBlanked whether texts of the tape were blanked: there anything of the same shape can stand
 * @returns in words, with the place as a JSON pointer; undefined where both are the same
 */
export function differenceBetween(
  recorded: unknown,
  live: unknown,
  { isBlanked = false }: { readonly isBlanked?: boolean } = {},
): string | undefined {
  const same = alike(live, recorded, { isBlanked });
  const found = firstDifference(JSON.stringify(recorded) ?? "", JSON.stringify(same) ?? "");
  return found && inWords(found);
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
  options: { readonly isBlanked: boolean },
): unknown {
  if (typeof live === "string" && typeof recorded === "string") {
    const isLeft = redactedGaps(live, recorded) !== undefined ||
      (options.isBlanked && isBlankingOf(recorded, live));
    return isLeft ? recorded : live;
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

/** Whether a text is another one in which letters and digits were blanked, all or some. */
function isBlankingOf(recorded: string, live: string): boolean {
  if (recorded.length !== live.length) return false;
  const blank = blankText(live);
  for (let at = 0; at < live.length; at++) {
    if (recorded[at] !== live[at] && recorded[at] !== blank[at]) return false;
  }
  return true;
}
