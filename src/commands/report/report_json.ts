import { UNSEEN } from "../../redaction/name_unseen.ts";

/**
 * A value as JSON for machines that a person may look at: what nobody sees stands there as the escape that JSON has
 * for it, so nothing is lost.
 */
export function reportJson(value: unknown): string {
  return JSON.stringify(value).replace(
    UNSEEN,
    (character) =>
      Array.from(
        { length: character.length },
        (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`,
      ).join(""),
  );
}
