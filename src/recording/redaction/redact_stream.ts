/** How much text that is written down already is looked at with what comes behind it: more than any mark has. */
const CONTEXT = 512;
/** Most text that waits for what follows it, in characters: more than any private key has, however it is drawn. */
export const MAX_PENDING_TEXT = 64 * 1024;
/** So much text is looked at again with each piece, however small; longer text once a quarter of it is new. */
const SHORT_TEXT = 1024;
/** So many pieces are gathered at most, though they are very small. */
const MAX_GATHERED = 512;

/** A piece of a text, and what is written down of it once that is known. */
export interface StreamPiece {
  readonly redacted: string | undefined;
  /** Makes it known, whatever follows. */
  readonly settle: () => void;
}

/**
 * Creates what redacts a text of which one piece comes after the other, as `redactPieces()` does with all of them.
 *
 * A piece is held back while what follows may show that it holds the beginning of a secret. One that waits for too much
 * text does so no longer; then what is left of the secret is taken out of what follows.
 *
 * @param options.redact redacts pieces, of which the first `written` can change no more
 * @param options.openFrom where in a text something begins that may be a secret with what follows
 * @param options.gather how much text may wait for more of it although it is known, so that less is looked at again
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
    const whole = pieces.join("");
    const [, ...redacted] = redact(pieces, { written: 1 });
    const open = openFrom(whole);
    let end = written.length;
    let known = 0;
    for (const piece of pending) {
      if (end + piece.text.length > open && !settles) break;
      piece.redacted = redacted[known] ?? "";
      end += piece.text.length;
      known++;
    }
    pending.splice(0, known);
    pendingLength -= end - written.length;
    // What may be the beginning of a secret stays, so that the rest of it is known for one.
    written = whole.slice(Math.max(end - MAX_PENDING_TEXT, Math.min(open, end - CONTEXT), 0), end);
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
        // What is not waited for for its own sake is known, and what comes behind may still be waited for.
        if (piece.redacted === undefined) inspect({ settles: false });
        if (piece.redacted === undefined) inspect({ settles: true });
      },
    };
  };
}

/** Most items that wait for the first of them. */
const MAX_ITEMS = 2000;

/** Items that go out in the order in which they were added, each as soon as it and all before it are known. */
export interface OrderedQueue<Item> {
  readonly add: (item: Item) => void;
  /** Adds an item that is made once it is known what is written down of a text; it may be none. */
  readonly addPending: (
    piece: StreamPiece,
    make: (redacted: string) => Item | undefined,
  ) => void;
  /** Lets all items go. */
  readonly end: () => void;
}

/** @param take takes each item that goes out */
export function createOrderedQueue<Item>(take: (item: Item) => void): OrderedQueue<Item> {
  let waiting: {
    readonly piece?: StreamPiece;
    readonly make: (redacted: string) => Item | undefined;
  }[] = [];
  const release = (most: number) => {
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
      release(MAX_ITEMS);
    },
    addPending: (piece, make) => {
      waiting.push({ piece, make });
      release(MAX_ITEMS);
    },
    end: () => release(0),
  };
}
