import { isJsonObject, type JsonObject } from "../../../json_object.ts";
import type { TextScrub } from "../../redaction/traces/text_scrub.ts";

/** A line of a stream of the Messages API's events, with its end. */
export interface EventLine {
  readonly text: string;
  /** What stands before its data, and behind it; absent for a line without any. */
  readonly around?: readonly [before: string, behind: string];
  readonly value?: unknown;
  /** What its data was as JSON. */
  readonly json?: string;
}

/** What a line tells of a text that comes in pieces. */
export type TextPiece =
  | {
    readonly kind: "piece";
    /** The number of the block that it belongs to. */
    readonly block: string;
    /** The field in which the text comes. */
    readonly field: (typeof DELTA_FIELDS)[number];
    readonly text: string;
  }
  | {
    readonly kind: "begin";
    readonly block: string;
    /** The tool that is called, where the text is what it is given. */
    readonly tool: string | undefined;
  }
  | { readonly kind: "end"; readonly block: string };

const DELTA_FIELDS = ["text", "thinking", "partial_json"] as const;

export function eventLine(text: string): EventLine {
  const [before] = /^data: ?/u.exec(text) ?? [];
  if (before === undefined) return { text };
  const data = text.slice(before.length).trimEnd();
  const behind = text.slice(before.length + data.length);
  try {
    const value: unknown = JSON.parse(data);
    return { text, around: [before, behind], value, json: JSON.stringify(value) };
  } catch {
    return { text };
  }
}

export function textPiece({ value }: EventLine): TextPiece | undefined {
  if (!isJsonObject(value)) return undefined;
  const block = String(value["index"]);
  if (value["type"] === "content_block_stop") return { kind: "end", block };
  if (value["type"] === "content_block_start") {
    const { type, name } = Object(value["content_block"]) as JsonObject;
    const tool = type === "tool_use" && typeof name === "string" ? name : undefined;
    return { kind: "begin", block, tool };
  }
  const field = deltaField(value);
  if (field === undefined) return undefined;
  return { kind: "piece", block, field, text: String(Object(value["delta"])[field]) };
}

/**
 * A line with its data scrubbed; where nothing is taken out of it, as it was.
 *
 * @param options.piece what becomes of the piece of a text in it: by itself it may look like what the whole is not
 */
export function scrubbedLine(
  { text, around, value, json }: EventLine,
  { scrub, piece }: { readonly scrub: TextScrub; readonly piece?: string | undefined },
): string {
  if (around === undefined) return scrub.text(text);
  const scrubbed = JSON.stringify(
    piece === undefined || !isJsonObject(value)
      ? scrub.value(value)
      : withText(scrub.value(withText(value, "")), piece),
  );
  return scrubbed === json ? text : around[0] + scrubbed + around[1];
}

function deltaField(value: JsonObject): (typeof DELTA_FIELDS)[number] | undefined {
  const { type, delta } = value;
  if (type !== "content_block_delta" || !isJsonObject(delta)) return undefined;
  return DELTA_FIELDS.find((name) => typeof delta[name] === "string");
}

function withText(value: JsonObject, text: string): JsonObject {
  const field = deltaField(value);
  return field === undefined
    ? value
    : { ...value, delta: { ...Object(value["delta"]), [field]: text } };
}
