import { isJsonObject, type JsonObject } from "../../json_object.ts";

/**
 * What a transcript is of.
 *
 * - `conversation`: one that a user can go on with.
 * - `background`: the same, by a Claude Code that was started for the background.
 * - `aside`: a subagent's, a teammate's or a service's.
 * - `wordless`: nobody has said anything.
 */
export type SessionKind = "conversation" | "background" | "aside" | "wordless";

/** Tells by the first line of a conversation in a transcript what it is of: all further ones say the same. */
export function sessionKind(lines: Iterable<string>): SessionKind {
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

/** The title that a session's user gave it last, else the one that Claude Code made up last; undefined for none. */
export function sessionTitle(lines: Iterable<string>): string | undefined {
  let given: string | undefined;
  let madeUp: string | undefined;
  for (const line of lines) {
    // Only these are parsed: most lines are long, and of another type.
    if (!/^\{"type":"(?:custom|ai)-title"/u.test(line)) continue;
    const { customTitle, aiTitle } = objectOf(line) ?? {};
    if (typeof customTitle === "string") given = customTitle;
    if (typeof aiTitle === "string") madeUp = aiTitle;
  }
  return given ?? madeUp;
}

/** Whether two titles are the same to whoever types one. */
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
