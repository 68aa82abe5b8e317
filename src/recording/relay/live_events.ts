import { createHeldQueue } from "../redaction/held_queue.ts";
import { redactPieces } from "../redaction/redact_pieces.ts";
import { createStreamRedactor, type StreamPiece } from "../redaction/redact_stream.ts";
import { secretScrub } from "../redaction/secret_scrub.ts";
import { joinedBytes } from "../../joined_bytes.ts";
import { eventLine, scrubbedLine, textPiece } from "./exchanges/event_line.ts";
import { textOf } from "./exchanges/scrub_exchange.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Takes a stream of events. */
export interface LiveEvents {
  /** Takes bytes, which may be cut anywhere. */
  readonly push: (bytes: Uint8Array) => void;
  /** Nothing more comes: what waits goes out. */
  readonly end: () => void;
}

/**
 * Takes the secrets out of a stream of the Messages API's events while it comes: of a text that is told in deltas a piece
 * waits, with what comes behind it, as long as it may end with the beginning of a secret.
 *
 * @param options.openFrom where in a text something begins that may be a secret with what follows
 * @param options.take takes each line, with its end, once it is known: as it was and as it is
 * @param options.waits how much of a text waits for more of it in any case, in characters: of a secret that begins in
 * there so much is known by then that all of it is taken out
 */
export function createLiveEvents({ redact, openFrom, take, waits = 0 }: {
  readonly redact: (text: string) => string;
  readonly openFrom: (text: string) => number;
  readonly take: (before: Bytes, after: Bytes) => void;
  readonly waits?: number;
}): LiveEvents {
  const scrub = secretScrub(redact);
  const queue = createHeldQueue<readonly [before: Bytes, after: Bytes]>((line) => take(...line));
  const beginText = () =>
    createStreamRedactor({
      redact: (pieces, { written }) => redactPieces(pieces, redact, { written }),
      openFrom: waits === 0 ? openFrom : (text) => Math.min(openFrom(text), text.length - waits),
      gather: waits * GATHERED,
    });
  /** By the number of a block, and the field in which its text comes. */
  const blocks = new Map<string, Map<string, ReturnType<typeof beginText>>>();
  const last = new Map<string, StreamPiece[]>();
  let begun: Bytes[] = [];
  const add = (bytes: Bytes) => {
    const text = textOf(bytes);
    // In what is no text nothing would be found.
    if (text === undefined) return queue.add([bytes, bytes]);
    const changed = (after: string) =>
      [bytes, after === text ? bytes : encoder.encode(after)] as const;
    const line = eventLine(text);
    const piece = textPiece(line);
    if (piece?.kind === "piece") {
      const { block, field } = piece;
      const texts = blocks.get(block) ?? new Map<string, ReturnType<typeof beginText>>();
      const push = texts.get(field) ?? beginText();
      blocks.set(block, texts.set(field, push));
      const held = push(piece.text);
      last.set(block, [...(last.get(block) ?? []).filter(isHeld), held]);
      queue.addMade(held, (redacted) => changed(scrubbedLine(line, { scrub, piece: redacted })));
      return;
    }
    if (piece?.kind === "end") {
      for (const held of last.get(piece.block) ?? []) held.settle();
      last.delete(piece.block);
      blocks.delete(piece.block);
    }
    queue.add(changed(scrubbedLine(line, { scrub })));
  };
  return {
    push: (bytes) => {
      if (begun.length > 0 && !bytes.some(isEnd) && begun.at(-1)?.at(-1) !== RETURN) {
        begun.push(new Uint8Array(bytes));
        return;
      }
      const all = joinedBytes([...begun, new Uint8Array(bytes)]);
      let from = 0;
      for (let at = 0; at < all.length; at++) {
        const byte = all[at];
        if (byte !== FEED && byte !== RETURN) continue;
        // A carriage return at the end may be one half of a line's end.
        if (byte === RETURN && at === all.length - 1) break;
        if (byte === RETURN && all[at + 1] === FEED) at++;
        add(all.subarray(from, at + 1));
        from = at + 1;
      }
      begun = from === all.length ? [] : [all.subarray(from)];
    },
    end: () => {
      if (begun.length > 0) add(joinedBytes(begun));
      begun = [];
      queue.end();
    },
  };
}

const encoder = new TextEncoder();
/** So many times as much of a text as waits is looked at together. */
const GATHERED = 16;
const FEED = 10;
const RETURN = 13;

function isEnd(byte: number): boolean {
  return byte === FEED || byte === RETURN;
}

function isHeld({ redacted }: StreamPiece): boolean {
  return redacted === undefined;
}
