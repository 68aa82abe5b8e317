import type { JsonObject } from "../../transcript/json_object.ts";
import type { StreamPiece } from "../../redaction/redact_stream.ts";
import { endedStream, startedCall, type StreamedText } from "./streamed_text.ts";

/** Texts that come in pieces, several at a time: of answers, and of the output of shells. */
export interface HeldStreams {
  /** Takes the next piece of one of them. */
  readonly take: (piece: Pick<StreamedText, "stream" | "text">) => StreamPiece;
  /** Looks whether texts come to their end with a frame or an input: nothing follows that they would wait for. */
  readonly heed: (value: JsonObject) => void;
}

/** @param begin begins a text, which may be what a tool is given, and takes its next piece then */
export function createHeldStreams(
  begin: (tool?: string) => (text: string) => StreamPiece,
): HeldStreams {
  const tools = new Map<string, string>();
  const streams = new Map<string, (text: string) => StreamPiece>();
  const last = new Map<string, StreamPiece>();
  return {
    take: ({ stream: name, text }) => {
      const stream = streams.get(name) ?? begin(tools.get(name));
      streams.set(name, stream);
      const piece = stream(text);
      last.set(name, piece);
      return piece;
    },
    heed: (value) => {
      const call = startedCall(value);
      if (call !== undefined) tools.set(call.stream, call.tool);
      const ended = endedStream(value);
      if (ended === undefined) return;
      for (const name of [...last.keys()].filter((name) => name.startsWith(ended))) {
        last.get(name)?.settle();
        last.delete(name);
        streams.delete(name);
        tools.delete(name);
      }
    },
  };
}
