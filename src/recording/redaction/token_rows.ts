import type { TextReader } from "./text_reader.ts";

/**
 * The rows of tokens that are too long for one: a token goes on in the next row where that begins with 16 or more of
 * its characters, a digit among them.
 */
export class TokenRows {
  readonly #reader: TextReader;
  #from = -1;
  #to = -1;

  constructor(reader: TextReader) {
    this.#reader = reader;
  }

  /** Where a token ends that has come as far as a place. */
  endBehind(place: number): number {
    // A place in the rows that were walked over last is the end of one of them, or stands in the middle of it.
    if (place >= this.#from && place <= this.#to) {
      return this.#reader.is("token", place) ? place : this.#to;
    }
    let end = place;
    for (;;) {
      const next = this.#reader.nextRow(end);
      if (next === undefined) break;
      const rowEnd = this.#reader.runEnd("token", next);
      if (rowEnd - next < 16 || !this.#reader.hasDigit("token", next)) break;
      end = rowEnd;
    }
    this.#from = place;
    this.#to = end;
    return end;
  }
}
