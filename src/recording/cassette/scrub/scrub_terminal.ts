import { LAYOUT, readAsDrawn } from "../record/read_as_drawn.ts";
import { ROOTS } from "../../redaction/traces/find_traces.ts";
import type { TraceScrubber } from "../../redaction/traces/scrub_text.ts";

/** The end of a row with the blanks and frames on either side of it. */
const ROW_END = /[ \t│|]*\r*\n[\s│|]*/gu;

const BEGINS_PATH = new RegExp(`^/(?:${ROOTS.join("|")})(?:/|$)`, "u");

/**
 * Takes traces out of what was written to a terminal, piece by piece, although they are drawn in several colours or go on
 * in another row. What stands for a letter of them is drawn where that was: nothing moves.
 *
 * @param scrubber one that fills with as many characters
 * @returns as many pieces, each as long as it was
 */
export function scrubTerminal(
  pieces: readonly string[],
  { filled }: Pick<TraceScrubber, "filled">,
): readonly string[] {
  const { text, parts } = readAsDrawn(pieces.join(""));
  const letters = new Map<number, string>();
  const unwrapped = withoutRowEnds(text);
  const put = (
    places: (at: number) => number,
    { start, fill }: { start: number; fill: string },
  ) => {
    for (let at = 0; at < fill.length; at++) {
      const place = places(start + at);
      // What either way of reading takes out is out.
      if (fill.charAt(at) !== text.charAt(place)) letters.set(place, fill.charAt(at));
    }
  };
  for (const trace of filled(text)) put((at) => at, trace);
  for (const trace of filled(unwrapped.text)) put(unwrapped.place, trace);
  if (letters.size === 0) return pieces;
  const written = new Map<number, string>();
  let index = 0;
  for (const at of [...letters.keys()].toSorted((one, other) => one - other)) {
    while (at >= (parts[index + 1]?.at ?? Infinity)) index++;
    const part = parts[index];
    if (part === undefined || part.place < 0 || LAYOUT.test(text.charAt(at))) continue;
    written.set(part.place + at - part.at, letters.get(at) ?? "");
  }
  // In their order, as they were put.
  const places = [...written];
  let next = 0;
  let offset = 0;
  return pieces.map((piece) => {
    const start = offset;
    offset += piece.length;
    let changed = "";
    let from = 0;
    for (let one = places[next]; one !== undefined && one[0] < offset; one = places[++next]) {
      const [place, letter] = one;
      changed += piece.slice(from, place - start) + letter;
      from = place - start + 1;
    }
    return from === 0 ? piece : changed + piece.slice(from);
  });
}

/** A text in which each row goes on with the next, and where in the other one a place of it is. */
function withoutRowEnds(
  text: string,
): { readonly text: string; readonly place: (at: number) => number } {
  const kept: { readonly at: number; readonly from: number }[] = [];
  let joined = "";
  let from = 0;
  const keep = (to: number) => {
    kept.push({ at: joined.length, from });
    joined += text.slice(from, to);
  };
  for (const { 0: { length }, index } of text.matchAll(ROW_END)) {
    // A row that begins a path does not go on with the one before.
    if (BEGINS_PATH.test(text.slice(index + length, index + length + 20))) continue;
    keep(index);
    from = index + length;
  }
  keep(text.length);
  return {
    text: joined,
    place: (at) => {
      const part = kept[lastAtOrBefore(kept, at)];
      return part === undefined ? at : part.from + at - part.at;
    },
  };
}

function lastAtOrBefore(parts: readonly { readonly at: number }[], place: number): number {
  let [low, high] = [0, parts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((parts[middle]?.at ?? Infinity) <= place) low = middle;
    else high = middle - 1;
  }
  return low;
}
