/** Which of its two outputs a command has written to. */
export type ShellStream = "stdout" | "stderr";

/** A part of a file, up to a byte, and which stream it is of; absent where that cannot be told. */
export interface WrittenPart {
  readonly end: number;
  readonly stream?: ShellStream;
}

/** What is known of a file that two streams append to. */
export interface WrittenSince {
  /** Up to where it is known whose it is. */
  readonly from: number;
  /** How large it is. */
  readonly size: number;
  /** Where the last write of each has ended, as long as that is not before `from`. */
  readonly stdout: number;
  readonly stderr: number;
  /** Which of them has written since, in order; absent where that is not known. */
  readonly runs?: readonly ShellStream[] | undefined;
  /** Where lines end from `from` to a byte. */
  readonly lineEnds: (to: number) => readonly number[];
}

/**
 * Tells which part of what two streams have appended to a file is whose.
 *
 * What only one of them has written is its own. Of both, the one that wrote last has written all behind the last write of
 * the other. What is before that is known where each had one turn, or as many turns as there are lines; it is left open
 * otherwise.
 */
export function writtenParts(since: WrittenSince): readonly WrittenPart[] {
  const { from, size, stdout, stderr, runs } = since;
  if (size <= from) return [];
  const turns = runs?.filter((stream, index) => stream !== runs[index - 1]);
  const [only, ...others] = turns ?? (stderr <= from ? ["stdout" as const] : ["stderr" as const]);
  const isOne = turns === undefined ? Math.min(stdout, stderr) <= from : others.length === 0;
  if (isOne && only !== undefined) return [{ end: size, stream: only }];
  const middle = Math.min(stdout, stderr);
  // Otherwise somebody has opened the file a third time, as "> /dev/stderr" does.
  if (Math.max(stdout, stderr) === size && middle > from) {
    const last: ShellStream = stdout > stderr ? "stdout" : "stderr";
    const isKnown = turns?.at(-1) === last;
    const before = partsOf(since, { turns: isKnown ? turns.slice(0, -1) : undefined, to: middle });
    return [...before, { end: size, stream: last }];
  }
  return partsOf(since, { turns, to: size });
}

/** What was written in some turns. */
function partsOf(
  { lineEnds }: WrittenSince,
  { turns, to }: { readonly turns: readonly ShellStream[] | undefined; readonly to: number },
): readonly WrittenPart[] {
  const [only, ...others] = turns ?? [];
  if (only !== undefined && others.length === 0) return [{ end: to, stream: only }];
  const ends = turns === undefined ? [] : lineEnds(to);
  const isLineEach = ends.length === turns?.length && ends.at(-1) === to;
  return turns !== undefined && isLineEach
    ? turns.map((stream, index) => ({ end: ends[index] ?? to, stream }))
    : [{ end: to }];
}
