import { createHeldQueue, type HeldQueue } from "../../redaction/held_queue.ts";
import { createHeldStreams } from "../record/held_streams.ts";
import { streamedText } from "../record/streamed_text.ts";
import type { JsonObject } from "../../../json_object.ts";
import type { PartScrubber } from "./part_scrubber.ts";

/** A line of a file that was scrubbed. */
export interface ScrubbedLine {
  /** The line of the file before, from 1 on. */
  readonly number: number;
  /** Without its end. */
  readonly text: string;
  /** Whether something was taken out of it. */
  readonly changed: boolean;
}

/** Values in their order, of which some hold pieces of texts that go on in later ones. */
export interface ScrubbedStreams {
  readonly queue: HeldQueue<ScrubbedLine>;
  /** Adds a value, and what becomes a line of it once it is known. */
  readonly add: (value: JsonObject, line: (value: JsonObject) => ScrubbedLine) => void;
}

/** @param take takes each line */
export function scrubStreams(
  scrubber: PartScrubber,
  take: (line: ScrubbedLine) => void,
): ScrubbedStreams {
  const queue = createHeldQueue<ScrubbedLine>(take);
  const streams = createHeldStreams(scrubber.stream);
  return {
    queue,
    add: (value, line) => {
      streams.heed(value);
      const piece = streamedText(value);
      if (piece === undefined) {
        // It need not wait for others, but has its place behind them.
        const made = line(scrubber.value(value));
        queue.add(made);
        return;
      }
      const held = streams.take(piece);
      // A piece by itself may look like what the whole is not: it is not looked at again.
      const rest = streamedText(scrubber.value(piece.replaced("")));
      const filled = rest?.replaced ?? piece.replaced;
      queue.addMade(
        held,
        (text) => line(filled(piece.isAnswer ? scrubber.answer(text) : text)),
      );
    },
  };
}
