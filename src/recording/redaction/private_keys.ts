import type { Cuts, TextSpan } from "./cuts.ts";
import type { TextReader } from "./text_reader.ts";

/** Private keys, from their first line to their last; without a last one as far as there are lines of a key. */
export class PrivateKeys {
  readonly #reader: TextReader;
  readonly #cuts: Cuts;
  #open: TextSpan[] = [];

  constructor(reader: TextReader, cuts: Cuts) {
    this.#reader = reader;
    this.#cuts = cuts;
  }

  begin({ start, end }: TextSpan): void {
    const lineEnd = this.#lineEnd(end);
    if (lineEnd !== undefined) this.#open.push({ start, end: lineEnd });
  }

  end({ start, end }: TextSpan): void {
    const [first] = this.#open;
    const lineEnd = this.#lineEnd(end);
    if (first === undefined || lineEnd === undefined || first.end > start) return;
    this.#cuts.add(first.start, lineEnd);
    this.#open = this.#open.filter((begun) => begun.end > start);
  }

  finish(): void {
    for (const { start, end } of this.#open) {
      this.#cuts.add(start, this.#linesEnd(end));
      this.#cuts.leaveOpen(start);
    }
  }

  /** Where a line ends that has come as far as `BEGIN `, if it is a private key's. */
  #lineEnd(place: number): number | undefined {
    const end = this.#reader.runEnd("capital", place);
    const isKey = this.#reader.text.slice(Math.max(place, end - 11), end) === "PRIVATE KEY" &&
      this.#reader.text.startsWith("-----", end);
    return isKey ? end + 5 : undefined;
  }

  #linesEnd(place: number): number {
    for (let end = place;;) {
      let next = end;
      for (let from = -1; next !== from;) {
        from = next;
        next = this.#reader.runEnd("gap", from);
        if (this.#reader.text.startsWith("\\n", next)) next += 2;
      }
      const lineEnd = this.#reader.runEnd("padded", next);
      if (lineEnd - next < 16) return end;
      end = lineEnd;
    }
  }
}
