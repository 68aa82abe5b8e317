/** How much text that is written down already is looked at with what comes behind it: more than any mark has. */
const CONTEXT = 512;
/** Most text that waits for what follows it, in characters: more than any private key has, however it is drawn. */
export const MOST_HELD = 64 * 1024;
/** So much text is looked at again with each piece, however small; longer text once a quarter of it is new. */
const SHORT = 1024;
/** So many pieces are gathered at most, though they are very small. */
const MOST_GATHERED = 512;

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
  const held: { readonly text: string; redacted: string | undefined }[] = [];
  let heldLength = 0;
  let fresh = 0;
  const look = ({ settles }: { readonly settles: boolean }) => {
    fresh = 0;
    const pieces = [written, ...held.map(({ text }) => text)];
    const whole = pieces.join("");
    const [, ...redacted] = redact(pieces, { written: 1 });
    const open = openFrom(whole);
    let end = written.length;
    let known = 0;
    for (const piece of held) {
      if (end + piece.text.length > open && !settles) break;
      piece.redacted = redacted[known] ?? "";
      end += piece.text.length;
      known++;
    }
    held.splice(0, known);
    heldLength -= end - written.length;
    // What may be the beginning of a secret stays, so that the rest of it is known for one.
    written = whole.slice(Math.max(end - MOST_HELD, Math.min(open, end - CONTEXT), 0), end);
  };
  return (text) => {
    const piece = { text, redacted: undefined as string | undefined };
    held.push(piece);
    heldLength += text.length;
    fresh += text.length;
    const settles = heldLength > MOST_HELD;
    const length = written.length + heldLength;
    const isDue = (fresh >= gather || held.length % MOST_GATHERED === 0) &&
      (length <= SHORT || 4 * fresh >= length);
    if (settles || isDue) look({ settles });
    return {
      get redacted() {
        return piece.redacted;
      },
      settle: () => {
        // What is not waited for for its own sake is known, and what comes behind may still be waited for.
        if (piece.redacted === undefined) look({ settles: false });
        if (piece.redacted === undefined) look({ settles: true });
      },
    };
  };
}

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
