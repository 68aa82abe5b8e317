import { type Entry, lineOf, parseEntry } from "./entry.ts";

/** Puts each line behind the one that it follows from, if that is among them, and leaves them as they are otherwise. */
export function parentsFirst(entries: readonly Entry[]): readonly Entry[] {
  const missing = new Set(entries.flatMap((entry) => lineId(entry) ?? []));
  const waiting = new Map<string, Entry[]>();
  const result: Entry[] = [];
  for (const entry of entries) {
    const parent = entry.type === "other" ? undefined : entry.parentUuid;
    if (typeof parent === "string" && missing.has(parent) && parent !== lineId(entry)) {
      const others = waiting.get(parent);
      if (others === undefined) waiting.set(parent, [entry]);
      else others.push(entry);
      continue;
    }
    // The next one is the last.
    const due = [entry];
    for (let next = due.pop(); next !== undefined; next = due.pop()) {
      result.push(next);
      const id = lineId(next);
      if (id === undefined) continue;
      missing.delete(id);
      for (const one of (waiting.get(id) ?? []).toReversed()) due.push(one);
      waiting.delete(id);
    }
  }
  // Lines that follow from each other in a circle are nobody's.
  return [...result, ...[...waiting.values()].flat()];
}

/** The id of a line; undefined for one that has none. */
export function lineId(entry: Entry): string | undefined {
  return entry.type === "other" ? undefined : entry.uuid;
}

/**
 * A transcript whose lines stand behind those that they follow from: on a busy machine 2.1.197 writes those last with
 * which a turn begins, and takes the last line for the end of the session when it resumes it, so that the answer is lost.
 *
 * @returns undefined for one that is so already
 */
export function straightened(text: string): string | undefined {
  const lines = text.trimEnd().split("\n");
  const last = lines.findLast((line) => idIn(line) !== undefined);
  const id = last === undefined ? undefined : idIn(last);
  if (id === undefined || !text.includes(`"parentUuid":${JSON.stringify(id)}`)) return undefined;
  const entries = lines.map(parseEntry).filter((entry) => entry !== undefined);
  return parentsFirst(entries).map((entry) => `${JSON.stringify(lineOf(entry))}\n`).join("");
}

function idIn(line: string): string | undefined {
  const entry = parseEntry(line);
  return entry === undefined ? undefined : lineId(entry);
}
