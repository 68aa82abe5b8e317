import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { folderParts } from "./folder_parts.ts";

/** The largest file that is read, in bytes. */
const LIMIT = 16_000_000;

/** Its name among what is out of reach for tools. */
export const GIVEN_IDS_FILE = "given-ids";

/** Notes the id that a caller gave what has another one in the transcript: after a SIGKILL nothing else tells. */
export function noteGivenId(
  folder: string,
  { line, given }: { readonly line: string; readonly given: string },
): void {
  const path = `${folderParts(folder).own}/${GIVEN_IDS_FILE}`;
  Deno.writeTextFileSync(path, `${JSON.stringify([line, given])}\n`, { append: true, mode: 0o600 });
}

/** The ids that were noted, by those of the transcript; a line that was not written to its end is none. */
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
