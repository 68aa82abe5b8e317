import { createHeldQueue } from "../redaction/held_queue.ts";
import { redactPieces } from "../redaction/redact_pieces.ts";
import { createStreamRedactor, type StreamPiece } from "../redaction/redact_stream.ts";
import { secretScrub } from "../redaction/secret_scrub.ts";
import { eventLine, scrubbedLine, textPiece } from "./exchanges/event_line.ts";

/**
 * Takes the secrets out of a stream of the Messages API's events while it comes: of a text that is told in deltas a piece
 * waits, with what comes behind it, as long as it may end with the beginning of a secret.
 *
 * @param options.openFrom where in a text something begins that may be a secret with what follows
 * @param options.take takes each line, with its end, once it is known
 * @returns takes bytes, which may be cut anywhere
 */
export function createLiveEvents({ redact, openFrom, take }: {
  readonly redact: (text: string) => string;
  readonly openFrom: (text: string) => number;
  readonly take: (line: string) => void;
}): (bytes: Uint8Array) => void {
  const scrub = secretScrub(redact);
  const queue = createHeldQueue<string>(take);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const beginText = () =>
    createStreamRedactor({
      redact: (pieces, { written }) => redactPieces(pieces, redact, { written }),
      openFrom,
    });
  /** By the number of a block, and the field in which its text comes. */
  const blocks = new Map<string, Map<string, ReturnType<typeof beginText>>>();
  const last = new Map<string, StreamPiece[]>();
  let begun = "";
  const add = (text: string) => {
    const line = eventLine(text);
    const piece = textPiece(line);
    if (piece?.kind === "piece") {
      const { block, field } = piece;
      const texts = blocks.get(block) ?? new Map<string, ReturnType<typeof beginText>>();
      const push = texts.get(field) ?? beginText();
      blocks.set(block, texts.set(field, push));
      const held = push(piece.text);
      last.set(block, [...(last.get(block) ?? []).filter(isHeld), held]);
      queue.addMade(held, (redacted) => scrubbedLine(line, { scrub, piece: redacted }));
      return;
    }
    if (piece?.kind === "end") {
      for (const held of last.get(piece.block) ?? []) held.settle();
      last.delete(piece.block);
      blocks.delete(piece.block);
    }
    queue.add(scrubbedLine(line, { scrub }));
  };
  return (bytes) => {
    const text = decoder.decode(bytes, { stream: true });
    begun += text;
    if (!/[\r\n]/u.test(text)) return;
    // A carriage return at the end may be one half of a line's end.
    const lines = begun.match(/[^\r\n]*(?:\r\n|\n|\r(?!$))/gu) ?? [];
    begun = begun.slice(lines.reduce((length, line) => length + line.length, 0));
    lines.forEach(add);
  };
}

function isHeld({ redacted }: StreamPiece): boolean {
  return redacted === undefined;
}
