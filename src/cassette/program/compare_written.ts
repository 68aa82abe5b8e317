import { type Difference, firstDifference } from "../../relay/exchanges/first_difference.ts";
import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
import { redactedGaps } from "../../redaction/redact_pieces.ts";

/**
 * Where what the caller writes differs first from what it wrote when it was recorded.
 *
 * The order of an object's fields does not count, and where a secret was taken out of the recording, anything can stand.
 *
 * @returns in words, with the place as a JSON pointer; undefined where both are the same
 */
export function differenceBetween(recorded: unknown, live: unknown): string | undefined {
  const found = firstDifference(
    JSON.stringify(recorded) ?? "",
    JSON.stringify(alike(live, recorded)) ?? "",
  );
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

/** A value with its fields in the order of another one, and as that one where it says no more than that it was a secret. */
function alike(live: unknown, recorded: unknown): unknown {
  if (typeof live === "string" && typeof recorded === "string") {
    return redactedGaps(live, recorded) === undefined ? live : recorded;
  }
  if (Array.isArray(live) && Array.isArray(recorded)) {
    return live.map((each, index) => alike(each, recorded[index]));
  }
  if (!isJsonObject(live) || !isJsonObject(recorded)) return live;
  const names = [...Object.keys(recorded), ...Object.keys(live)].filter((name, index, all) =>
    Object.hasOwn(live, name) && all.indexOf(name) === index
  );
  return Object.fromEntries(names.map((name) => [
    name,
    alike(live[name], Object.hasOwn(recorded, name) ? recorded[name] : undefined),
  ]));
}
