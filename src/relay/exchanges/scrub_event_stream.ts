import type { TextScrub } from "../../redaction/traces/text_scrub.ts";
import { type EventLine, eventLine, scrubbedLine, textPiece } from "./event_line.ts";

/** A piece of a text of the model's in a line. */
interface Piece {
  readonly line: EventLine;
  readonly text: string;
}

/**
 * Scrubs a stream of the Messages API's events. What is told in deltas is put together, scrubbed, and cut again at the same
 * places; other data is scrubbed event by event, and what has not changed stays byte for byte.
 *
 * @returns the lines as they were and as they are, each with its end
 */
export function scrubEventStream(
  text: string,
  scrub: TextScrub,
): readonly (readonly [before: string, after: string])[] {
  const lines = (text.match(/[^\r\n]*(?:\r\n|\n|\r|$)/gu) ?? []).filter((line) => line !== "")
    .map(eventLine);
  /** What becomes of the pieces of texts. */
  const scrubbed = new Map<EventLine, string>();
  // By the number of a block, and the field in which its text comes.
  const blocks = new Map<string, Map<string, Piece[]>>();
  /** The tools that are called, by the numbers of the blocks. */
  const tools = new Map<string, string | undefined>();
  const finish = (block: string) => {
    for (const [field, pieces] of blocks.get(block) ?? []) {
      const texts = scrub.pieces(pieces.map(({ text }) => text), {
        isAnswer: field !== "partial_json",
        tool: tools.get(block),
      });
      for (const [index, { line }] of pieces.entries()) scrubbed.set(line, texts[index] ?? "");
    }
    blocks.delete(block);
  };
  for (const line of lines) {
    const piece = textPiece(line);
    if (piece?.kind === "begin") tools.set(piece.block, piece.tool);
    if (piece?.kind === "end") finish(piece.block);
    if (piece?.kind !== "piece") continue;
    const block = blocks.get(piece.block) ?? new Map<string, Piece[]>();
    const pieces = block.get(piece.field) ?? [];
    pieces.push({ line, text: piece.text });
    blocks.set(piece.block, block.set(piece.field, pieces));
  }
  for (const block of [...blocks.keys()]) finish(block);
  return lines.map((line) => [line.text, scrubbedLine(line, { scrub, piece: scrubbed.get(line) })]);
}
