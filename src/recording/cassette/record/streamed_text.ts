import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { StreamPiece } from "../../redaction/redact_stream.ts";

/** A piece of a text in a frame or an input. */
export interface StreamedText {
  /** Which text it is of. */
  readonly stream: string;
  readonly text: string;
  /** Whether it is what the model says or thinks. */
  readonly isAnswer: boolean;
  /** The frame or the input with another piece in its place. */
  readonly replaced: (text: string) => JsonObject;
}

/** The fields in which deltas of the API have a text. */
const DELTA_FIELDS = ["text", "thinking", "partial_json"] as const;

/** The piece of a text that a frame of a tape, or an input of a cast, holds: of an answer, or of the output of a shell. */
export function streamedText(value: JsonObject): StreamedText | undefined {
  const { type, subtype, text } = value;
  if (type === "shell-output" || (type === "system" && subtype === "shell_output_delta")) {
    if (typeof text !== "string") return undefined;
    const stream = `shell ${asText(value["id"] ?? value["tool_use_id"])} ${
      asText(value["stream"])
    }`;
    return {
      stream,
      text,
      isAnswer: false,
      replaced: (other) => ({ ...value, text: other }),
    };
  }
  const place = eventIn(value);
  if (place === undefined) return undefined;
  const { stream, event, withEvent } = place;
  const { delta, index } = event;
  if (event["type"] !== "content_block_delta" || !isJsonObject(delta)) return undefined;
  const field = DELTA_FIELDS.find((name) => typeof delta[name] === "string");
  if (field === undefined) return undefined;
  return {
    stream: `${stream} ${asText(index)} ${field}`,
    text: asText(delta[field]),
    isAnswer: field !== "partial_json",
    replaced: (other) => withEvent({ ...event, delta: { ...delta, [field]: other } }),
  };
}

/** The text that begins with a frame or an input and is what a tool is given, as JSON, and which tool that is. */
export function startedCall(
  value: JsonObject,
): { readonly stream: string; readonly tool: string } | undefined {
  const place = eventIn(value);
  const block = place?.event["content_block"];
  if (place?.event["type"] !== "content_block_start" || !isJsonObject(block)) return undefined;
  const { type, name } = block;
  return type === "tool_use" && typeof name === "string"
    ? { stream: `${place.stream} ${asText(place.event["index"])} partial_json`, tool: name }
    : undefined;
}

/** Which texts come to their end with a frame or an input, if there are any. */
export function endedStreams(value: JsonObject): readonly string[] {
  const place = eventIn(value);
  if (place?.event["type"] !== "content_block_stop") return [];
  const block = `${place.stream} ${asText(place.event["index"])}`;
  return DELTA_FIELDS.map((field) => `${block} ${field}`);
}

/** The event of the API's stream in a value. */
function eventIn(value: JsonObject): {
  readonly stream: string;
  readonly event: JsonObject;
  readonly withEvent: (event: JsonObject) => JsonObject;
} | undefined {
  const { type, part, event } = value;
  if (type === "stream_event" && isJsonObject(event)) {
    const stream = `frame ${asText(value["session_id"])} ${asText(value["parent_tool_use_id"])}`;
    return { stream, event, withEvent: (other) => ({ ...value, event: other }) };
  }
  if (type !== "stream" || !isJsonObject(part) || !isJsonObject(part["event"])) return undefined;
  return {
    stream: `input ${asText(value["request"])}`,
    event: part["event"],
    withEvent: (other) => ({ ...value, part: { ...part, event: other } }),
  };
}

/** More are not followed at once: whichever began first is taken to be at its end. */
const MOST_STREAMS = 2000;

/** Texts that come in pieces, several at a time: of answers, and of the output of shells. */
interface HeldStreams {
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
