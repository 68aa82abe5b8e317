import { Cuts, type TextSpan } from "./cuts.ts";
import { findMarked } from "./find_marked.ts";
import { knownSearches } from "./known_searches.ts";
import { TextReader } from "./text_reader.ts";

/** The secrets in a text. */
export interface FoundSecrets {
  /** In order; none overlaps another. */
  readonly spans: readonly TextSpan[];
  /** How much was looked at to find them, in characters: in proportion to the text, whatever it holds. */
  readonly steps: number;
}

/**
 * Creates what finds secrets in a text: those that are known, and those that give themselves away by their shape.
 *
 * The text is read from left to right: a mark, such as `sk-ant-`, is found on the way, and around it runs of characters
 * are looked at. No expression searches it that begins anew at every character, as quadratic time begins.
 *
 * A known secret, or a token at the end of a row, is found although it goes on in the next, since screens wrap. What
 * stands right behind a secret is seen as if the secret were not there.
 *
 * @param known secrets, 8 characters or longer
 */
export function createSecretFinder(known: readonly string[]): (text: string) => FoundSecrets {
  const searches = knownSearches(known);
  return (text) => {
    const reader = new TextReader(text);
    const cuts = new Cuts();
    for (const search of searches) search(reader, cuts);
    findMarked(reader, cuts);
    return { spans: cuts.merged(), steps: reader.steps };
  };
}
