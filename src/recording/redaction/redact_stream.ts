/** The number of written characters that are inspected again together with new text. No mark is longer. */
const CONTEXT = 512;
/** The maximum number of characters that wait for following text. No private key takes more on any screen. */
export const MAX_PENDING_TEXT = 64 * 1024;
/** A text shorter than this is inspected again with each piece, a longer text when a quarter of it is new. */
const SHORT_TEXT = 1024;
/** The maximum number of pieces that are gathered before an inspection. */
const MAX_GATHERED = 512;

/** A piece of a text; `redacted` is undefined while its final form is unknown. */
export interface StreamPiece {
  readonly redacted: string | undefined;
  /** Decides the final form immediately, regardless of the following text. */
  readonly settle: () => void;
}

/**
 * Creates a function that redacts a text piece by piece. The result equals that of `redactPieces()` for all pieces
 * together.
 *
 * A piece waits while it may end with the beginning of a secret. If too much text waits, the pieces are settled, and
 * the rest of the secret is removed from the text that follows.
 *
 * @param options.redact redacts pieces, of which the first `written` cannot change
 * @param options.openFrom returns the first position of a possible secret that following text may complete
 * @param options.gather the number of characters that wait for more, so that less text is inspected twice
 * @returns takes the next piece
 */
export function createStreamRedactor({ redact, openFrom, gather = 0 }: {
  readonly redact: (
    pieces: readonly string[],
    options: { readonly written: number },
  ) => readonly string[];
  readonly openFrom: (text: string) => number;
  readonly gather?: number;
}): (text: string) => StreamPiece {
  let written = "";
  const pending: { readonly text: string; redacted: string | undefined }[] = [];
  let pendingLength = 0;
  let fresh = 0;
  const inspect = ({ settles }: { readonly settles: boolean }) => {
    fresh = 0;
    const pieces = [written, ...pending.map(({ text }) => text)];
    const text = pieces.join("");
    const [, ...redacted] = redact(pieces, { written: 1 });
    const open = openFrom(text);
    let end = written.length;
    let settled = 0;
    for (const piece of pending) {
      if (end + piece.text.length > open && !settles) break;
      piece.redacted = redacted[settled] ?? "";
      end += piece.text.length;
      settled++;
    }
    pending.splice(0, settled);
    pendingLength -= end - written.length;
    // The beginning of a possible secret stays in the context, so that the rest of it is recognised.
    written = text.slice(Math.max(end - MAX_PENDING_TEXT, Math.min(open, end - CONTEXT), 0), end);
  };
  return (text) => {
    const piece = { text, redacted: undefined as string | undefined };
    pending.push(piece);
    pendingLength += text.length;
    fresh += text.length;
    const settles = pendingLength > MAX_PENDING_TEXT;
    const length = written.length + pendingLength;
    const isDue = (fresh >= gather || pending.length % MAX_GATHERED === 0) &&
      (length <= SHORT_TEXT || 4 * fresh >= length);
    if (settles || isDue) inspect({ settles });
    return {
      get redacted() {
        return piece.redacted;
      },
      settle: () => {
        // The first inspection settles pieces that waited only for `gather`, and lets later pieces continue to wait.
        if (piece.redacted === undefined) inspect({ settles: false });
        if (piece.redacted === undefined) inspect({ settles: true });
      },
    };
  };
}

/** The maximum number of items that wait for the first one. */
const MAX_ITEMS = 2000;

/**
 * Emits items in the order in which they were added. Each is emitted as soon as its text and all earlier texts are
 * known.
 */
export interface OrderedQueue<Item> {
  readonly add: (item: Item) => void;
  /** Adds an item that is made from the final form of a piece; `make` may return none. */
  readonly addPending: (
    piece: StreamPiece,
    make: (redacted: string) => Item | undefined,
  ) => void;
  /** Emits all items. */
  readonly end: () => void;
}

/** @param take receives each item */
export function createOrderedQueue<Item>(take: (item: Item) => void): OrderedQueue<Item> {
  let waiting: {
    readonly piece?: StreamPiece;
    readonly make: (redacted: string) => Item | undefined;
  }[] = [];
  const release = (most: number) => {
    let released = 0;
    for (const { piece, make } of waiting) {
      if (waiting.length - released > most) piece?.settle();
      const redacted = piece === undefined ? "" : piece.redacted;
      if (redacted === undefined) break;
      const item = make(redacted);
      if (item !== undefined) take(item);
      released++;
    }
    if (released > 0) waiting = waiting.slice(released);
  };
  return {
    add: (item) => {
      if (waiting.length === 0) return take(item);
      waiting.push({ make: () => item });
      release(MAX_ITEMS);
    },
    addPending: (piece, make) => {
      waiting.push({ piece, make });
      release(MAX_ITEMS);
    },
    end: () => release(0),
  };
}
