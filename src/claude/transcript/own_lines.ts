import type { Entry } from "./entry.ts";

/** Which lines of a transcript are the child's own. */
export interface OwnLines {
  /** Ids of the lines of earlier runs: a forked session repeats them in its own file. */
  readonly known: ReadonlySet<string>;
  /** What kind of Claude Code the child says it is. */
  readonly entrypoint: string | undefined;
}

/** Nothing has been read yet. */
export const NO_LINES: OwnLines = { known: new Set(), entrypoint: undefined };

/** Whatever a session is told; of some of it, lines of transcripts are a part. */
type Told =
  | { readonly type: "earlier"; readonly entries: readonly Entry[] }
  | { readonly type: "transcript"; readonly entry: Entry }
  | { readonly type: string };

/**
 * Follows which lines are the child's own.
 *
 * @returns undefined for a line that an earlier run or another kind of Claude Code wrote
 */
export function ownLines(lines: OwnLines, told: Told): OwnLines | undefined {
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

/** Whether a line is one of an earlier run, which a forked session has in its own file too. */
export function isRepeated({ known }: OwnLines, entry: Entry): boolean {
  if (known.size === 0) return false;
  const uuid = fieldOf(entry, "uuid");
  return uuid !== undefined && known.has(uuid);
}

function fieldOf(entry: Entry, name: "uuid" | "entrypoint"): string | undefined {
  const value = entry.type === "other" ? entry.line[name] : entry[name];
  return typeof value === "string" ? value : undefined;
}
