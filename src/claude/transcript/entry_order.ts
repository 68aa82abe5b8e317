import { type Entry, lineOf, parseEntry } from "./entry.ts";
import { asString } from "../../json_object.ts";

/** What tells the child's own lines from others in the same file. */
export interface EntryOrigin {
  /** Ids of the lines of earlier runs. A forked session repeats them in its own file. */
  readonly known: ReadonlySet<string>;
  /** The kind of Claude Code that the child's first line names, such as `cli`. */
  readonly entrypoint: string | undefined;
}

export const NO_ORIGIN: EntryOrigin = { known: new Set(), entrypoint: undefined };

/** An input of the conversation. Some have lines of a transcript. */
type OriginInput =
  | { readonly type: "earlier"; readonly entries: readonly Entry[] }
  | { readonly type: "transcript"; readonly entry: Entry }
  | { readonly type: string };

/**
 * Returns what is known after an input.
 *
 * @returns undefined for a line that an earlier run or another kind of Claude Code wrote
 */
export function trackOrigin(lines: EntryOrigin, told: OriginInput): EntryOrigin | undefined {
  if (told.type === "earlier" && "entries" in told) {
    const known = told.entries.map((entry) => fieldOf(entry, "uuid"));
    return { ...lines, known: new Set(known.filter((uuid) => uuid !== undefined)) };
  }
  if (told.type !== "transcript" || !("entry" in told)) return lines;
  if (isRepeated(lines, told.entry)) return undefined;
  const entrypoint = fieldOf(told.entry, "entrypoint");
  if (entrypoint === undefined) return lines;
  if (lines.entrypoint === undefined) return { ...lines, entrypoint };
  return lines.entrypoint === entrypoint ? lines : undefined;
}

/** Whether a line is a copy of an earlier run's line. */
export function isRepeated({ known }: EntryOrigin, entry: Entry): boolean {
  if (known.size === 0) return false;
  const uuid = fieldOf(entry, "uuid");
  return uuid !== undefined && known.has(uuid);
}

function fieldOf(entry: Entry, name: "uuid" | "entrypoint"): string | undefined {
  return asString(entry.type === "other" ? entry.line[name] : entry[name]);
}

/** Moves each line after its parent, if its parent is among the lines. Otherwise the order stays. */
export function sortParentsFirst(entries: readonly Entry[]): readonly Entry[] {
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
  // Lines that are each other's parents come last.
  return [...result, ...[...waiting.values()].flat()];
}

/** The id of a line; undefined for one that has none. */
export function lineId(entry: Entry): string | undefined {
  return entry.type === "other" ? undefined : entry.uuid;
}

/**
 * Moves each line of a transcript after its parent. Claude Code 2.1.197 on a busy machine wrote the first lines of a turn
 * last. A resumed session continues from the last line of the file, so its last answer would be lost.
 *
 * @returns undefined if the order is right already
 */
export function sortTranscript(text: string): string | undefined {
  const lines = text.trimEnd().split("\n");
  const last = lines.findLast((line) => idIn(line) !== undefined);
  const id = last === undefined ? undefined : idIn(last);
  if (id === undefined || !text.includes(`"parentUuid":${JSON.stringify(id)}`)) return undefined;
  const entries = lines.map(parseEntry).filter((entry) => entry !== undefined);
  return sortParentsFirst(entries).map((entry) => `${JSON.stringify(lineOf(entry))}\n`).join("");
}

function idIn(line: string): string | undefined {
  const entry = parseEntry(line);
  return entry === undefined ? undefined : lineId(entry);
}
