import { isJsonObject, type JsonObject } from "../../json_object.ts";

/**
 * Whose conversation a transcript holds.
 *
 * - `conversation`: a user's, which can be resumed
 * - `background`: a user's, in a Claude Code that was started for the background
 * - `aside`: a subagent's, a teammate's or a service's
 * - `wordless`: it has no messages
 */
export type SessionKind = "conversation" | "background" | "aside" | "wordless";

/** Reads the kind of a transcript from its first message. All further messages say the same. */
export function readSessionKind(lines: Iterable<string>): SessionKind {
  for (const line of lines) {
    const value = objectOf(line);
    if (value === undefined || (value["type"] !== "user" && value["type"] !== "assistant")) {
      continue;
    }
    const { isSidechain, teamName, sessionKind: kind } = value;
    if (isSidechain === true || (typeof teamName === "string" && teamName !== "")) return "aside";
    if (typeof kind !== "string" || kind === "") return "conversation";
    return kind.startsWith("daemon") ? "aside" : "background";
  }
  return "wordless";
}

/** Returns the last title that the user gave, or else the last that Claude Code made up; undefined for none. */
export function readSessionTitle(lines: Iterable<string>): string | undefined {
  let given: string | undefined;
  let madeUp: string | undefined;
  for (const line of lines) {
    // Most lines are long and of another type, so only these are parsed.
    if (!/^\{"type":"(?:custom|ai)-title"/u.test(line)) continue;
    const { customTitle, aiTitle } = objectOf(line) ?? {};
    if (typeof customTitle === "string") given = customTitle;
    if (typeof aiTitle === "string") madeUp = aiTitle;
  }
  return given ?? madeUp;
}

/** Whether two titles are equal, ignoring case and surrounding space. */
export function isSameTitle(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}

function objectOf(line: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
