import type { Cuts } from "./cuts.ts";
import type { TextReader } from "./text_reader.ts";
import { WordAutomaton } from "./word_automaton.ts";

/** Looks for some secrets in a text and adds those it finds to the cuts. */
export type Search = (reader: TextReader, cuts: Cuts) => void;

/** What a screen puts between the parts of a text, and how JSON spells the ends of rows. */
const LAYOUT = /[\s│|\\]/u;

/** Fewer visible characters are too likely a word of their own. */
const SHORTEST_INK = 8;

/**
 * Searches for known secrets. One that holds blanks itself may be wrapped at one of them, which is then not drawn: it
 * is looked for as it stands, and by its visible characters alone if these are enough.
 */
export function knownSearches(known: readonly string[]): readonly Search[] {
  const solid = known.filter((secret) => !LAYOUT.test(secret));
  const laidOut = known.filter((secret) => LAYOUT.test(secret));
  const ink = laidOut.map((secret) => secret.replace(/[\s│|]+/gu, ""))
    .filter(({ length }) => length >= SHORTEST_INK);
  return [
    wordSearch(solid, {
      skip: (reader, at) => reader.is("layout", at) ? reader.nextRow(at) : undefined,
    }),
    wordSearch(laidOut, { skip: () => undefined }),
    wordSearch(ink, { skip: (reader, at) => reader.is("gap", at) ? at + 1 : undefined }),
  ].filter((search) => search !== undefined);
}

/** A shorter beginning of a secret gives nothing of it away. */
export const SHORTEST_BEGINNING = 4;

/** @param options.skip where to go on if what stands at a place is not looked at */
function wordSearch(
  words: readonly string[],
  { skip }: { readonly skip: (reader: TextReader, at: number) => number | undefined },
): Search | undefined {
  if (words.length === 0) return undefined;
  const automaton = new WordAutomaton(words);
  // Where the units that may belong to a word were found.
  const places = new Int32Array(words.reduce((most, { length }) => Math.max(most, length), 0));
  return (reader, cuts) => {
    automaton.steps = 0;
    let state = 0;
    let count = 0;
    const leaveOpen = () => {
      const depth = automaton.depthOf(state);
      if (depth < SHORTEST_BEGINNING) return;
      cuts.leaveOpen(places[(count - depth) % places.length] as number);
    };
    for (let at = 0; at < reader.text.length;) {
      // Outside of a word the text is skipped up to the next unit that one of them begins with.
      if (state !== 0) {
        reader.hasReachedEnd = false;
        const next = skip(reader, at);
        if (next !== undefined) {
          at = next;
          continue;
        }
        // What follows may be the rest of the row's end.
        if (reader.hasReachedEnd) leaveOpen();
      }
      state = automaton.next(state, reader.text.charCodeAt(at));
      at++;
      if (state === 0) continue;
      places[count % places.length] = at - 1;
      count++;
      const found = automaton.wordAt(state);
      if (found < 0) continue;
      const { length } = words[found] as string;
      cuts.add(places[(count - length) % places.length] as number, at);
    }
    leaveOpen();
    reader.steps += automaton.steps;
  };
}
