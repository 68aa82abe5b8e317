import type { Cuts } from "./cuts.ts";
import { type Mark, MARKS } from "./marks.ts";
import { PrivateKeys } from "./private_keys.ts";
import type { TextReader } from "./text_reader.ts";
import { TokenRows } from "./token_rows.ts";
import { WordAutomaton } from "./word_automaton.ts";

const AUTOMATON = new WordAutomaton(MARKS.map(({ mark }) => mark.toLowerCase()));

/** Finds the secrets that give themselves away by a mark, and adds them to the cuts. */
export function findMarked(reader: TextReader, cuts: Cuts): void {
  const { text } = reader;
  const rows = new TokenRows(reader);
  const keys = new PrivateKeys(reader, cuts);
  AUTOMATON.steps = 0;
  let state = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    state = AUTOMATON.next(state, unit >= 0x41 && unit <= 0x5a ? unit + 0x20 : unit);
    const found = AUTOMATON.wordAt(state);
    if (found < 0) continue;
    const { mark, anyCase, begins, find } = MARKS[found] as Mark;
    const end = at + 1;
    const start = end - mark.length;
    if (anyCase === undefined && !text.startsWith(mark, start)) continue;
    if (begins && reader.is("word", start - 1) && !cuts.endsAt(start)) continue;
    find({ reader, cuts, rows, keys, start, end });
  }
  keys.finish();
  reader.steps += AUTOMATON.steps;
}
