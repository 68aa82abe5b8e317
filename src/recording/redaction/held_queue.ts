import type { StreamPiece } from "./redact_stream.ts";

/** Most items that wait for the first of them. */
const MOST_ITEMS = 2000;

/** Items that go out in the order in which they were added, each as soon as it and all before it are known. */
export interface HeldQueue<Item> {
  readonly add: (item: Item) => void;
  /** Adds an item that is made once it is known what is written down of a text; it may be none. */
  readonly addMade: (
    piece: StreamPiece,
    make: (redacted: string) => Item | undefined,
  ) => void;
  /** Lets all items go. */
  readonly end: () => void;
}

/** @param take takes each item that goes out */
export function createHeldQueue<Item>(take: (item: Item) => void): HeldQueue<Item> {
  let waiting: {
    readonly piece?: StreamPiece;
    readonly make: (redacted: string) => Item | undefined;
  }[] = [];
  const letGo = (most: number) => {
    let gone = 0;
    for (const { piece, make } of waiting) {
      if (waiting.length - gone > most) piece?.settle();
      const redacted = piece === undefined ? "" : piece.redacted;
      if (redacted === undefined) break;
      const item = make(redacted);
      if (item !== undefined) take(item);
      gone++;
    }
    if (gone > 0) waiting = waiting.slice(gone);
  };
  return {
    add: (item) => {
      if (waiting.length === 0) return take(item);
      waiting.push({ make: () => item });
      letGo(MOST_ITEMS);
    },
    addMade: (piece, make) => {
      waiting.push({ piece, make });
      letGo(MOST_ITEMS);
    },
    end: () => letGo(0),
  };
}
