/** A part of a text. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** Parts of a text that are to be taken out of it. */
export class Cuts {
  readonly #spans: TextSpan[] = [];
  readonly #starts = new Set<number>();
  readonly #ends = new Set<number>();
  #openFrom = Infinity;

  add(start: number, end: number): void {
    this.#spans.push({ start, end });
    this.#starts.add(start);
    this.#ends.add(end);
  }

  /** Notes that what begins at a place may be, or go on as, a secret: the text has ended too early to tell. */
  leaveOpen(start: number): void {
    this.#openFrom = Math.min(this.#openFrom, start);
  }

  /** The first place that was left open; `Infinity` where none was. */
  get openFrom(): number {
    return this.#openFrom;
  }

  beginsAt(place: number): boolean {
    return this.#starts.has(place);
  }

  endsAt(place: number): boolean {
    return this.#ends.has(place);
  }

  merged(): readonly TextSpan[] {
    const merged: TextSpan[] = [];
    for (const span of this.#spans.toSorted((one, other) => one.start - other.start)) {
      const last = merged.at(-1);
      if (last === undefined || span.start >= last.end) merged.push(span);
      else if (span.end > last.end) {
        merged[merged.length - 1] = { start: last.start, end: span.end };
      }
    }
    return merged;
  }
}
