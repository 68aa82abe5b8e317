import type { TextScrub } from "../../redaction/traces/text_scrub.ts";
import { type EventLine, eventLine, scrubbedLine, textPiece } from "./event_line.ts";

/** A piece of a text of the model's in a line. */
interface Piece {
  readonly line: EventLine;
  readonly text: string;
}

/** A line as it was and as it is, with its end. */
type ScrubbedLine = readonly [before: string, after: string];

/**
 * Scrubs a stream of the Messages API's events. What is told in deltas is put together, scrubbed, and cut again at the same
 * places; other data is scrubbed event by event, and what has not changed stays byte for byte.
 *
 * @returns the lines; yields how many characters it has looked at
 */
export function* scrubEventStream(
  text: string,
  scrub: TextScrub,
): Generator<number, readonly ScrubbedLine[]> {
  const lines: EventLine[] = [];
  for (const [line] of text.matchAll(/[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$/gu)) {
    lines.push(eventLine(line));
    yield line.length;
  }
  /** What becomes of the pieces of texts. */
  const scrubbed = new Map<EventLine, string>();
  // By the number of a block, and the field in which its text comes.
  const blocks = new Map<string, Map<string, Piece[]>>();
  /** The tools that are called, by the numbers of the blocks. */
  const tools = new Map<string, string | undefined>();
  const finish = function* (block: string) {
    for (const [field, pieces] of blocks.get(block) ?? []) {
      const texts = scrub.pieces(pieces.map(({ text }) => text), {
        isAnswer: field !== "partial_json",
        tool: tools.get(block),
      });
      let size = 0;
      for (const [index, { line, text }] of pieces.entries()) {
        scrubbed.set(line, texts[index] ?? "");
        size += text.length;
      }
      yield size;
    }
    blocks.delete(block);
  };
  for (const line of lines) {
    const piece = textPiece(line);
    if (piece?.kind === "begin") tools.set(piece.block, piece.tool);
    if (piece?.kind === "end") yield* finish(piece.block);
    if (piece?.kind !== "piece") continue;
    const block = blocks.get(piece.block) ?? new Map<string, Piece[]>();
    const pieces = block.get(piece.field) ?? [];
    pieces.push({ line, text: piece.text });
    blocks.set(piece.block, block.set(piece.field, pieces));
  }
  for (const block of [...blocks.keys()]) yield* finish(block);
  const made: ScrubbedLine[] = [];
  for (const line of lines) {
    made.push([line.text, scrubbedLine(line, { scrub, piece: scrubbed.get(line) })]);
    yield line.text.length;
  }
  return made;
}
