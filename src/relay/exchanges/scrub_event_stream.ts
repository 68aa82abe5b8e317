import type { TextScrub } from "../../redaction/traces/text_scrub.ts";

/** A line of a stream of events, with its end. */
interface Line {
  readonly text: string;
  /** What stands before its data, and behind it; absent for a line without any. */
  readonly around?: readonly [before: string, behind: string];
  readonly value?: unknown;
  /** What its data was as JSON. */
  readonly json?: string;
  /** What becomes of that, once it is known. */
  scrubbed?: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** A piece of a text of the model's in a line. */
interface Piece {
  readonly line: Line;
  readonly text: string;
}

const DELTA_FIELDS = ["text", "thinking", "partial_json"] as const;

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
    .map(lineOf);
  // By the number of a block, and the field in which its text comes.
  const blocks = new Map<string, Map<string, Piece[]>>();
  /** The tools that are called, by the numbers of the blocks. */
  const tools = new Map<string, string>();
  const finish = (
    [field, pieces]: readonly [string, readonly Piece[]],
    tool: string | undefined,
  ) => {
    const scrubbed = scrub.pieces(pieces.map(({ text }) => text), {
      isAnswer: field !== "partial_json",
      tool,
    });
    // A piece by itself may look like what the whole is not: it is not looked at again.
    for (const [index, { line }] of pieces.entries()) {
      const rest = scrub.value(withText(line.value as Fields, ""));
      line.scrubbed = JSON.stringify(withText(rest, scrubbed[index] ?? ""));
    }
  };
  for (const line of lines) {
    const { value } = line;
    if (!isFields(value)) continue;
    if (value["type"] === "content_block_start") {
      const { type, name } = Object(value["content_block"]) as Fields;
      const index = String(value["index"]);
      if (type === "tool_use" && typeof name === "string") tools.set(index, name);
      else tools.delete(index);
    }
    if (value["type"] === "content_block_stop") {
      const index = String(value["index"]);
      for (const stream of blocks.get(index) ?? []) finish(stream, tools.get(index));
      blocks.delete(index);
    }
    const field = deltaField(value);
    if (field === undefined) continue;
    const index = String(value["index"]);
    const block = blocks.get(index) ?? new Map<string, Piece[]>();
    const pieces = block.get(field) ?? [];
    pieces.push({ line, text: String((value["delta"] as Fields)[field]) });
    blocks.set(index, block.set(field, pieces));
  }
  for (const [index, block] of blocks) {
    for (const stream of block) finish(stream, tools.get(index));
  }
  return lines.map((line) => [line.text, scrubbedLine(line, scrub)]);
}

function lineOf(text: string): Line {
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

function scrubbedLine({ text, around, value, json, ...line }: Line, scrub: TextScrub): string {
  if (around === undefined) return scrub.text(text);
  const scrubbed = line.scrubbed ?? JSON.stringify(scrub.value(value));
  return scrubbed === json ? text : around[0] + scrubbed + around[1];
}

function deltaField(value: Fields): string | undefined {
  const { type, delta } = value;
  if (type !== "content_block_delta" || !isFields(delta)) return undefined;
  return DELTA_FIELDS.find((name) => typeof delta[name] === "string");
}

function withText(value: Fields, text: string): Fields {
  const field = deltaField(value);
  return field === undefined
    ? value
    : { ...value, delta: { ...Object(value["delta"]), [field]: text } };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
