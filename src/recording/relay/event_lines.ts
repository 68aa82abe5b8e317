import { isJsonObject, type JsonObject } from "../../json_object.ts";
import {
  createSecretScrubber,
  redactPieces,
  type TextScrubber,
} from "../redaction/redact_pieces.ts";
import { type Bytes, type Chunk, decodeText } from "./exchange.ts";
import { joinedBytes } from "../../joined_bytes.ts";
import {
  createOrderedQueue,
  createStreamRedactor,
  type StreamPiece,
} from "../redaction/redact_stream.ts";

/** A line of an event stream of the Messages API, with its line end. */
export interface EventLine {
  readonly text: string;
  /** The text before and after the data; absent for a line without JSON data. */
  readonly around?: readonly [before: string, after: string];
  readonly value?: unknown;
  /** The data in the form of `JSON.stringify`. */
  readonly json?: string;
}

/** The facts in a line about a text that is streamed in deltas. */
type TextPiece =
  | {
    readonly kind: "piece";
    /** The index of the content block. */
    readonly block: string;
    /** The field of the delta that holds the text. */
    readonly field: (typeof DELTA_FIELDS)[number];
    readonly text: string;
  }
  | {
    readonly kind: "begin";
    readonly block: string;
    /** The tool that is called, if the text is its input. */
    readonly tool: string | undefined;
  }
  | { readonly kind: "end"; readonly block: string };

const DELTA_FIELDS = ["text", "thinking", "partial_json"] as const;

export function parseEventLine(text: string): EventLine {
  const [before] = /^data: ?/u.exec(text) ?? [];
  if (before === undefined) return { text };
  const data = text.slice(before.length).trimEnd();
  const after = text.slice(before.length + data.length);
  try {
    const value: unknown = JSON.parse(data);
    return { text, around: [before, after], value, json: JSON.stringify(value) };
  } catch {
    return { text };
  }
}

export function textPieceIn({ value }: EventLine): TextPiece | undefined {
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
 * Scrubs the data of a line. A line without changes stays byte for byte.
 *
 * @param options.piece the scrubbed delta of the line, if it has one. The delta is not scrubbed separately, because it
 * is only a part of a text
 */
export function scrubEventLine(
  { text, around, value, json }: EventLine,
  { scrub, piece }: { readonly scrub: TextScrubber; readonly piece?: string | undefined },
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

/** Cuts a changed text at the positions where the original was cut. */
interface ChunkCutter {
  /** Adds a piece of the original. */
  readonly piece: (piece: { readonly ms: number; readonly size: number }) => void;
  /** Adds the next part of the text, before and after the change. Its pieces were added earlier. */
  readonly part: (before: Bytes, after: Bytes) => void;
}

/** @param take receives each piece once all of its text is known */
export function createChunkCutter(take: (chunk: Chunk) => void): ChunkCutter {
  const expected: { readonly ms: number; left: number }[] = [];
  let parts: Bytes[] = [];
  const end = (ms: number) => {
    expected.shift();
    take({ ms, bytes: joinedBytes(parts) });
    parts = [];
  };
  return {
    piece: ({ ms, size }) => void expected.push({ ms, left: size }),
    part: (before, after) => {
      let rest = after;
      for (let size = before.length; size > 0;) {
        const [piece] = expected;
        if (piece === undefined) throw new Error("More text was changed than had arrived");
        const taken = Math.min(piece.left, size);
        // The last piece of a part takes the rest of the changed text.
        const cut = taken === size ? rest.length : Math.min(taken, rest.length);
        if (cut > 0) parts.push(rest.subarray(0, cut));
        rest = rest.subarray(cut);
        size -= taken;
        piece.left -= taken;
        if (piece.left === 0) end(piece.ms);
      }
      // Empty pieces stay empty.
      for (let [piece] = expected; piece?.left === 0; [piece] = expected) end(piece.ms);
    },
  };
}

/** Takes a stream of bytes. */
export interface ByteSink {
  /** Takes bytes, which may be cut anywhere. */
  readonly push: (bytes: Uint8Array) => void;
  /** Emits all waiting bytes. */
  readonly end: () => void;
}

/**
 * Creates a redactor for an event stream of the Messages API that is still arriving. A delta, with all later lines,
 * waits while its text may end with the beginning of a secret.
 *
 * @param options.openFrom returns the first position of a possible secret that following text may complete
 * @param options.take receives each line with its line end, before and after redaction
 * @param options.waits the number of characters of a text that always wait. A secret that begins in them is known
 * completely when they are emitted
 */
export function createEventRedactor({ redact, openFrom, take, waits = 0 }: {
  readonly redact: (text: string) => string;
  readonly openFrom: (text: string) => number;
  readonly take: (before: Bytes, after: Bytes) => void;
  readonly waits?: number;
}): ByteSink {
  const scrub = createSecretScrubber(redact);
  const queue = createOrderedQueue<readonly [before: Bytes, after: Bytes]>((line) => take(...line));
  const beginText = () =>
    createStreamRedactor({
      redact: (pieces, { written }) => redactPieces(pieces, redact, { written }),
      openFrom: waits === 0 ? openFrom : (text) => Math.min(openFrom(text), text.length - waits),
      gather: waits * GATHERED,
    });
  /** By the index of a block, and the field of its deltas. */
  const blocks = new Map<string, Map<string, ReturnType<typeof beginText>>>();
  const last = new Map<string, StreamPiece[]>();
  const addLine = (bytes: Bytes) => {
    const text = decodeText(bytes);
    // Secrets are found only in valid UTF-8.
    if (text === undefined) return queue.add([bytes, bytes]);
    const changed = (after: string) =>
      [bytes, after === text ? bytes : encoder.encode(after)] as const;
    const line = parseEventLine(text);
    const piece = textPieceIn(line);
    if (piece?.kind === "piece") {
      const { block, field } = piece;
      const texts = blocks.get(block) ?? new Map<string, ReturnType<typeof beginText>>();
      const push = texts.get(field) ?? beginText();
      blocks.set(block, texts.set(field, push));
      const pending = push(piece.text);
      last.set(block, [...(last.get(block) ?? []).filter(isPending), pending]);
      queue.addPending(
        pending,
        (redacted) => changed(scrubEventLine(line, { scrub, piece: redacted })),
      );
      return;
    }
    if (piece?.kind === "end") {
      for (const pending of last.get(piece.block) ?? []) pending.settle();
      last.delete(piece.block);
      blocks.delete(piece.block);
    }
    queue.add(changed(scrubEventLine(line, { scrub })));
  };
  const lines = createEventLineSplitter(addLine);
  return {
    push: lines.push,
    end: () => {
      lines.end();
      queue.end();
    },
  };
}

/** @param take receives each line with its line end: a line feed, a carriage return, or both */
function createEventLineSplitter(take: (line: Bytes) => void): ByteSink {
  let incomplete: Bytes[] = [];
  return {
    push: (bytes) => {
      if (incomplete.length > 0 && !bytes.some(isEnd) && incomplete.at(-1)?.at(-1) !== RETURN) {
        incomplete.push(new Uint8Array(bytes));
        return;
      }
      const all = joinedBytes([...incomplete, new Uint8Array(bytes)]);
      let from = 0;
      for (let at = 0; at < all.length; at++) {
        const byte = all[at];
        if (byte !== FEED && byte !== RETURN) continue;
        // The line feed of a `\r\n` may be in the next bytes.
        if (byte === RETURN && at === all.length - 1) break;
        if (byte === RETURN && all[at + 1] === FEED) at++;
        take(all.subarray(from, at + 1));
        from = at + 1;
      }
      incomplete = from === all.length ? [] : [all.subarray(from)];
    },
    end: () => {
      if (incomplete.length > 0) take(joinedBytes(incomplete));
      incomplete = [];
    },
  };
}

const encoder = new TextEncoder();
/** The inspection interval: a text is inspected when this many times `waits` characters are new. */
const GATHERED = 16;
const FEED = 10;
const RETURN = 13;

function isEnd(byte: number): boolean {
  return byte === FEED || byte === RETURN;
}

function isPending({ redacted }: StreamPiece): boolean {
  return redacted === undefined;
}
