import { asText, isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { StreamPiece } from "../../redaction/redact_stream.ts";

/** A piece of a longer text, in a frame or an input. */
export interface TextPiece {
  /** The name of the text to which the piece belongs. */
  readonly stream: string;
  readonly text: string;
  /** Whether the piece is text or a thought of the model. */
  readonly isAnswer: boolean;
  /** Returns the frame or input with another piece. */
  readonly withText: (text: string) => JsonObject;
}

/** The text fields of deltas of the API. */
const DELTA_FIELDS = ["text", "thinking", "partial_json"] as const;

/** Finds the piece of a streamed text in a frame or an input: of an answer, or of a shell's output. */
export function textPieceIn(value: JsonObject): TextPiece | undefined {
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
      withText: (other) => ({ ...value, text: other }),
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
    withText: (other) => withEvent({ ...event, delta: { ...delta, [field]: other } }),
  };
}

/**
 * Finds the start of a tool call in a frame or an input: the name of the text that becomes the tool's input, and the
 * tool.
 */
function startedCall(
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

/** The names of the streamed texts that are complete when a frame or input says that a content block ends. */
function endedStreams(value: JsonObject): readonly string[] {
  const place = eventIn(value);
  if (place?.event["type"] !== "content_block_stop") return [];
  const block = `${place.stream} ${asText(place.event["index"])}`;
  return DELTA_FIELDS.map((field) => `${block} ${field}`);
}

/** Finds an event of the API's stream in a frame or an input. */
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

/** The maximum number of texts that are tracked together. Beyond it, the oldest text counts as ended. */
const MOST_STREAMS = 2000;

/** Streamed texts that are redacted in pieces, several together. */
export interface TextStreams {
  /** Takes the next piece of a text. */
  readonly take: (piece: Pick<TextPiece, "stream" | "text">) => StreamPiece;
  /** Ends the texts that are complete after this frame or input, so that nothing waits for their next piece. */
  readonly observe: (value: JsonObject) => void;
}

/**
 * @param begin begins a text and returns a function that receives its pieces; `tool` is set if the text is the JSON
 * input of a tool
 */
export function createTextStreams(
  begin: (tool?: string) => (text: string) => StreamPiece,
): TextStreams {
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
    observe: (value) => {
      const call = startedCall(value);
      if (call !== undefined) {
        tools.set(call.stream, call.tool);
        endFirstOf(tools);
      }
      for (const name of endedStreams(value)) end(name);
    },
  };
}
