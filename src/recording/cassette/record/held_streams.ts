import type { JsonObject } from "../../../json_object.ts";
import type { StreamPiece } from "../../redaction/redact_stream.ts";
import { endedStreams, startedCall, type StreamedText } from "./streamed_text.ts";

/** More are not followed at once: whichever began first is taken to be at its end. */
const MOST_STREAMS = 2000;

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
  const streams = new Map<
    string,
    { readonly take: (text: string) => StreamPiece; last?: StreamPiece }
  >();
  const end = (name: string) => {
    streams.get(name)?.last?.settle();
    streams.delete(name);
    tools.delete(name);
  };
  const endFirstOf = (names: ReadonlyMap<string, unknown>) => {
    const [first] = names.keys();
    if (names.size > MOST_STREAMS && first !== undefined) end(first);
  };
  return {
    take: ({ stream: name, text }) => {
      const stream = streams.get(name) ?? { take: begin(tools.get(name)) };
      streams.set(name, stream);
      endFirstOf(streams);
      return stream.last = stream.take(text);
    },
    heed: (value) => {
      const call = startedCall(value);
      if (call !== undefined) {
        tools.set(call.stream, call.tool);
        endFirstOf(tools);
      }
      for (const name of endedStreams(value)) end(name);
    },
  };
}
