import type { HookPayload } from "../session/input.ts";

/** What MessageDisplay hooks have told of a message, as far as it waits for something. */
export interface DisplayedMessage {
  /** The hook's own id of it, which is not the API's. */
  readonly id: string;
  readonly turn: string;
  /** Pieces by their place: hooks run side by side, and a later one may be heard first. */
  readonly pieces: ReadonlyMap<number, string>;
  /** The place of the piece that comes next. */
  readonly next: number;
}

/** A piece of what the model says, as a MessageDisplay hook tells it. */
export interface DisplayedPiece {
  readonly message: string;
  readonly turn: string;
  readonly index: number;
  readonly text: string;
}

/** Most pieces of a message whose turn has not come: nobody waits for so many lines. */
const MOST_PIECES = 100_000;

/** Reads what a MessageDisplay hook was given; undefined for what is none of the session's own. */
export function displayedPiece(
  { message_id, turn_id, index, delta, agent_id, session_id }: HookPayload,
  sessionId: string,
): DisplayedPiece | undefined {
  if (agent_id !== undefined || (session_id !== undefined && session_id !== sessionId)) {
    return undefined;
  }
  if (typeof message_id !== "string" || typeof delta !== "string") return undefined;
  if (typeof index !== "number" || !Number.isSafeInteger(index) || index < 0) return undefined;
  const turn = typeof turn_id === "string" ? turn_id : "";
  return { message: message_id, turn, index, text: delta };
}

/** Adds a piece to the messages that have not been told to their ends, in the order in which they were begun. */
export function withPiece(
  messages: readonly DisplayedMessage[],
  { message: id, turn, index, text }: DisplayedPiece,
): readonly DisplayedMessage[] {
  const known = messages.find((each) => each.id === id);
  if (known === undefined) {
    return [...messages, { id, turn, pieces: new Map([[index, text]]), next: 0 }];
  }
  if (index < known.next || known.pieces.size >= MOST_PIECES) return messages;
  const pieces = new Map(known.pieces).set(index, text);
  return messages.map((each) => each === known ? { ...known, pieces } : each);
}

/** Takes the pieces whose turn it is: the text from where the last one ended, up to the first piece that is missing. */
export function takeText(
  message: DisplayedMessage,
): { readonly message: DisplayedMessage; readonly texts: readonly string[] } {
  const texts: string[] = [];
  const pieces = new Map(message.pieces);
  let { next } = message;
  for (let piece = pieces.get(next); piece !== undefined; piece = pieces.get(next)) {
    texts.push(piece);
    pieces.delete(next++);
  }
  return { message: texts.length === 0 ? message : { ...message, pieces, next }, texts };
}
