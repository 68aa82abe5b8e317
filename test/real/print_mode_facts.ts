import { OWN_FIELDS } from "../../src/claude/wire/result_frame.ts";
import { assert } from "@std/assert";

/** A JSON object of which nothing is known. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Fields that two runs of the same prompt never share: ids and clocks. `claude -p` alone knows when its
 * request went out and when the first token came, so `claude-print` has no such field at all; what is left of limits, it
 * alone tells.
 */
const OF_ONE_RUN = [
  ...OWN_FIELDS,
  "duration_api_ms",
  "duration_ms",
  "first_content_frame_ms",
  "session_id",
  "time_to_request_ms",
  "ttft_ms",
  "ttft_stream_ms",
  "uuid",
];

/** Frames only the request loop of `claude -p` can print: rate limits and estimates of thinking. */
const OF_PRINT_MODE = ["rate_limit_event", "system/thinking_tokens"];

/** Parses output that has to be one JSON object. */
export function parseObject(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  assert(isObject(value), `not a JSON object: ${text}`);
  return value;
}

/** Parses stream-json output: an object a line. */
export function parseFrames(text: string): readonly JsonObject[] {
  return text.trimEnd().split("\n").map(parseObject);
}

/** What a result object says about the turn, without what is of one run only. */
export function factsOfResult(result: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(result).filter(([key]) => !OF_ONE_RUN.includes(key)),
  );
}

/** The frames as a list of what they are: type, subtype, and for messages the kinds of their blocks. */
export function outlineOfFrames(frames: readonly JsonObject[]): readonly string[] {
  return frames.map(({ type, subtype, message }) => {
    const name = subtype === undefined ? `${type}` : `${type}/${subtype}`;
    return [name, ...blocksOf(message).map(describeBlock)].join(" ");
  }).filter((outline) => !OF_PRINT_MODE.includes(outline));
}

/** The blocks of an `assistant` or `user` frame's message. */
export function blocksOf(message: unknown): readonly JsonObject[] {
  const content = isObject(message) ? message.content : undefined;
  return Array.isArray(content) ? content.filter(isObject) : [];
}

function describeBlock({ type, name, text, content }: JsonObject): string {
  const detail = name ?? text ?? content;
  return detail === undefined ? `${type}` : `${type}(${JSON.stringify(detail)})`;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
