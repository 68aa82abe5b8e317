import { isJsonObject } from "./json_object.ts";

/** The title that a session's user gave it last, else the one that Claude Code made up last; undefined for none. */
export function sessionTitle(lines: Iterable<string>): string | undefined {
  let given: string | undefined;
  let madeUp: string | undefined;
  for (const line of lines) {
    // Most lines are long, and of something else.
    if (!/^\{"type":"(?:custom|ai)-title"/u.test(line)) continue;
    const { customTitle, aiTitle } = fieldsOf(line);
    if (typeof customTitle === "string") given = customTitle;
    if (typeof aiTitle === "string") madeUp = aiTitle;
  }
  return given ?? madeUp;
}

/** Whether two titles are the same to whoever types one. */
export function isSameTitle(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase();
}

function fieldsOf(line: string): { readonly [field: string]: unknown } {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
