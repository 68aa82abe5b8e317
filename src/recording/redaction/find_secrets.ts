import { Cuts, type TextSpan } from "./cuts.ts";
import { lastAnswers } from "./last_answers.ts";
import { knownSearches, SHORTEST_BEGINNING } from "./known_searches.ts";
import { TextReader } from "./text_reader.ts";
import { type Mark, MARKS } from "./marks.ts";
import { PrivateKeys } from "./private_keys.ts";
import { TokenRows } from "./token_rows.ts";
import { WordAutomaton } from "./word_automaton.ts";

/** The secrets in a text. */
export interface FoundSecrets {
  /** In order; none overlaps another. */
  readonly spans: readonly TextSpan[];
  /**
   * Where something begins of which only what follows the text can tell whether it is a secret, and how far it goes;
   * `Infinity` where there is none. The first few characters of a secret are not taken for its beginning.
   */
  readonly openFrom: number;
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
  return lastAnswers((text) => {
    const reader = new TextReader(text);
    const cuts = new Cuts();
    for (const search of searches) search(reader, cuts);
    findMarked(reader, cuts);
    return { spans: cuts.merged(), openFrom: cuts.openFrom, steps: reader.steps };
  });
}

const AUTOMATON = new WordAutomaton(MARKS.map(({ mark }) => mark.toLowerCase()));

/** Finds the secrets that give themselves away by a mark, and adds them to the cuts. */
function findMarked(reader: TextReader, cuts: Cuts): void {
  const { text } = reader;
  const rows = new TokenRows(reader);
  const keys = new PrivateKeys(reader, cuts);
  AUTOMATON.steps = 0;
  let state = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    state = AUTOMATON.next(state, unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit);
    if (state === 0) continue;
    const found = AUTOMATON.wordAt(state);
    if (found < 0) continue;
    const { mark, anyCase, begins, find } = MARKS[found] as Mark;
    const end = at + 1;
    const start = end - mark.length;
    if (anyCase === undefined && !text.startsWith(mark, start)) continue;
    if (begins && reader.is("word", start - 1) && !cuts.endsAt(start)) continue;
    reader.hasReachedEnd = false;
    find({ reader, cuts, rows, keys, start, end });
    if (reader.hasReachedEnd) cuts.leaveOpen(start);
  }
  const begun = AUTOMATON.depthOf(state);
  if (begun >= SHORTEST_BEGINNING) cuts.leaveOpen(text.length - begun);
  keys.finish();
  reader.steps += AUTOMATON.steps;
}
