import { createHeldQueue, type HeldQueue } from "../record/held_queue.ts";
import type { StreamPiece } from "../record/redact_stream.ts";
import type { JsonObject } from "../../transcript/json_object.ts";
import type { PartScrubber } from "./part_scrubber.ts";
import { endedStream, streamedText } from "./streamed_text.ts";

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
  const streams = new Map<string, (text: string) => StreamPiece>();
  const last = new Map<string, StreamPiece>();
  return {
    queue,
    add: (value, line) => {
      const ended = endedStream(value);
      if (ended !== undefined) {
        for (const name of [...last.keys()].filter((name) => name.startsWith(ended))) {
          last.get(name)?.settle();
          last.delete(name);
          streams.delete(name);
        }
      }
      const piece = streamedText(value);
      if (piece === undefined) {
        // It need not wait for others, but has its place behind them.
        const made = line(scrubber.value(value));
        queue.add(made);
        return;
      }
      const stream = streams.get(piece.stream) ?? scrubber.stream();
      streams.set(piece.stream, stream);
      const held = stream(piece.text);
      last.set(piece.stream, held);
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
