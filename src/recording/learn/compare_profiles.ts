import { isJsonObject } from "../../json_object.ts";
import type { VersionProfile } from "../../claude/versions/profile.ts";

/**
 * What a profile has that another has not, and the other way round, one line each: `+ result/success: safety_stops`.
 * Nothing if they differ in the version alone.
 */
export function compareProfiles(before: VersionProfile, after: VersionProfile): readonly string[] {
  const [old, current] = [wordsIn(before), wordsIn(after)];
  const names = [...new Set([...old.keys(), ...current.keys()])].toSorted();
  return names.flatMap((name) => {
    const [gone, come] = [old.get(name) ?? [], current.get(name) ?? []];
    const signed = (sign: string, words: readonly string[]) =>
      words.length === 0 ? [] : [`${sign} ${name}: ${words.join(" ")}`];
    const lines = [
      ...signed("-", gone.filter((word) => !come.includes(word))),
      ...signed("+", come.filter((word) => !gone.includes(word))),
    ];
    const isSame = gone.join(" ") === come.join(" ");
    return lines.length === 0 && !isSame ? [`~ ${name}: another order`] : lines;
  });
}

/** The words of each part of a profile by its path; a value that is no list of words counts as one word. */
function wordsIn(profile: VersionProfile): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const [part, value] of Object.entries(profile)) {
    if (part === "version") continue;
    const entries: readonly (readonly [string, unknown])[] = isJsonObject(value)
      ? Object.entries(value)
      : [["", value]];
    for (const [key, each] of entries) {
      const words = Array.isArray(each)
        ? each.map((word) => typeof word === "string" ? word : JSON.stringify(word))
        : typeof each === "string"
        ? each.split(" ").filter((word) => word !== "")
        : [JSON.stringify(each)];
      found.set(key === "" ? part : part === "frames" ? key : `${part} ${key}`, words);
    }
  }
  return found;
}

/** A profile as its file holds it. */
export function profileText(profile: VersionProfile): string {
  return `${JSON.stringify(profile, null, 2)}\n`;
}
