import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { folderParts } from "./folder_parts.ts";

/** The largest file that is read, in bytes. */
const LIMIT = 16_000_000;

/** Its name among what is out of reach for tools. */
export const GIVEN_IDS_FILE = "given-ids";

/**
 * Notes that the transcript's `line` is the message to which the caller gave the id `given`. After a SIGKILL only this file
 * tells so. The note is written as soon as the child's own id is known, by one write(2) that begins with an end of line: a
 * note that a full disk cuts off spoils no later one.
 */
export function noteGivenId(
  folder: string,
  { line, given }: { readonly line: string; readonly given: string },
): void {
  const path = `${folderParts(folder).own}/${GIVEN_IDS_FILE}`;
  Deno.writeTextFileSync(path, `\n${JSON.stringify([line, given])}\n`, {
    append: true,
    mode: 0o600,
  });
}

/** The noted ids of callers, by the ids of the transcript. Ignores lines that are not complete notes. */
export function givenIdsIn(folder: string): ReadonlyMap<string, string> {
  return new Map(textOf(folder).split("\n").flatMap(pairIn));
}

function textOf(folder: string): string {
  try {
    const path = `${folderParts(folder).own}/${GIVEN_IDS_FILE}`;
    return new TextDecoder().decode(readRegularFile(path, { limit: LIMIT }));
  } catch {
    // Nothing has been noted, or it can be read no more: what is not known has the transcript's id.
    return "";
  }
}

function pairIn(text: string): readonly (readonly [string, string])[] {
  try {
    const value: unknown = JSON.parse(text);
    if (!Array.isArray(value)) return [];
    const [line, given]: readonly unknown[] = value;
    return typeof line === "string" && typeof given === "string" ? [[line, given]] : [];
  } catch {
    return [];
  }
}
