import { createTraceScrubber, fillNeutral, reportFilled } from "../redaction/scrub_traces.ts";
import { collectTraces, type KnownTraces, type TraceCollector } from "../redaction/known_traces.ts";
import type { Trace } from "../redaction/find_traces.ts";
import { chainScrubbers, cutAtSamePlaces, type TextScrubber } from "../redaction/redact_pieces.ts";
import { runToEnd } from "./exchange_folder.ts";
import {
  type Bytes,
  type Chunk,
  decodeText,
  type Exchange,
  type ExchangeRequest,
  joinChunks,
  type ScrubbedPart,
} from "./exchange.ts";
import { VARIABLE_LENGTH } from "./match_requests.ts";
import {
  blankCallJson,
  type BlankedParts,
  blankText,
  isSubagentTool,
} from "../redaction/blank_text.ts";
import { createMessageBlanker, type MessageBlankerOptions } from "../redaction/blank_messages.ts";
import { brotliDecompressSync, constants, gunzipSync, inflateSync } from "node:zlib";
import {
  createChunkCutter,
  type EventLine,
  parseEventLine,
  scrubEventLine,
  textPieceIn,
} from "./event_lines.ts";

/** Scrubs exchanges so that recordings of two machines become equal. */
export interface ExchangeScrubber {
  /** Learns traces from an exchange or a request. */
  readonly learn: (exchange: LearnedFrom) => void;
  readonly request: (request: ExchangeRequest) => ExchangeRequest;
  /** Scrubs an exchange, and records in it which parts were removed. */
  readonly exchange: (exchange: Exchange) => Exchange;
  /** Scrubs an exchange in steps; yields how many characters each step has examined. */
  readonly inSteps: (exchange: Exchange) => Generator<number, Exchange>;
}

interface LearnedFrom {
  readonly request: ExchangeRequest;
  readonly response?: Exchange["response"];
}

/**
 * Creates a scrubber of exchanges.
 *
 * @param options.parts what to remove
 * @param options.known the known facts about the caller
 * @param options.secrets also removes secrets; absent if the exchanges have none
 */
export function createExchangeScrubber(
  { parts, known, collector = collectTraces(known), secrets, note }: {
    readonly parts: readonly ScrubbedPart[];
    readonly known: Partial<KnownTraces>;
    /** Learns traces; a new collector by default. */
    readonly collector?: TraceCollector;
    readonly secrets?: TextScrubber;
    /** Receives the kind of each trace that is removed. */
    readonly note?: (kind: Trace["kind"]) => void;
  },
): ExchangeScrubber {
  const messages = createMessageScrubber({
    prompts: parts.includes("prompts"),
    answers: parts.includes("answers"),
  }, { varying: VARIABLE_LENGTH });
  let cached: { readonly of: string; readonly scrub: TextScrubber } | undefined;
  const scrubNow = (): TextScrubber => {
    const now = collector.known();
    const of = JSON.stringify(now);
    if (cached?.of === of) return cached.scrub;
    const scrub = chainScrubbers(
      ...(secrets === undefined ? [] : [secrets]),
      ...(parts.includes("traces")
        ? [createTraceScrubber(now, reportFilled(fillNeutral(now), note))]
        : []),
      messages,
    );
    cached = { of, scrub };
    return scrub;
  };
  const inSteps = function* (exchange: Exchange): Generator<number, Exchange> {
    const scrub = scrubNow();
    const scrubbed = new Set([...exchange.scrubbed ?? [], ...parts]);
    return {
      ...exchange,
      request: scrubRequest(exchange.request, scrub),
      response: yield* scrubResponse(exchange.response, scrub),
      ...(scrubbed.size === 0 ? {} : { scrubbed: [...scrubbed] }),
    };
  };
  return {
    learn: ({ request, response }) => {
      const bodies = [request.body, ...(response?.chunks ?? []).map(({ bytes }) => bytes)];
      for (const body of bodies) learnFromBody(body, collector);
    },
    request: (request) => scrubRequest(request, scrubNow()),
    exchange: (exchange) => runToEnd(inSteps(exchange)),
    inSteps,
  };
}

function learnFromBody(body: Bytes, collector: TraceCollector): void {
  const text = decodeText(body);
  if (text === undefined || text === "") return;
  try {
    collector.value(JSON.parse(text));
  } catch {
    collector.text(text);
  }
}

/** Blanks prompts or answers in JSON values and deltas. A plain text does not show whose text it is, so it is kept. */
function createMessageScrubber(
  parts: BlankedParts,
  options: MessageBlankerOptions = {},
): TextScrubber {
  return {
    text: (text) => text,
    value: createMessageBlanker(parts, options),
    pieces: (pieces, { isAnswer, tool } = { isAnswer: false }) => {
      if (isAnswer) return parts.answers ? pieces.map(blankText) : pieces;
      return tool !== undefined && parts.prompts && isSubagentTool(tool)
        ? cutAtSamePlaces(blankCallJson(tool, pieces.join("")), pieces)
        : pieces;
    },
  };
}

/** Scrubs the path and the body of a request. Bytes that are not UTF-8 are kept. */
function scrubRequest(
  { method, path, body }: ExchangeRequest,
  scrub: TextScrubber,
): ExchangeRequest {
  return { method, path: scrub.text(path), body: scrubBody(body, scrub) };
}

/**
 * Scrubs the headers and the body of a response. The body keeps its division into pieces. A compressed body is
 * decompressed, because nothing is found in compressed data.
 *
 * @returns yields how many characters each step has examined
 */
function* scrubResponse(
  response: Exchange["response"],
  scrub: TextScrubber,
): Generator<number, Exchange["response"]> {
  const { headers, chunks } = response;
  const plain = decompress({ headers, chunks });
  const scrubbed = yield* scrubChunks(plain.chunks, { isEvents: isEventStream(headers), scrub });
  // A body without changes stays compressed.
  const kept = scrubbed === plain.chunks ? { headers, chunks } : { ...plain, chunks: scrubbed };
  return {
    ...response,
    headers: kept.headers.map(([name, value]) => [name, scrubHeader(name, { value, scrub })]),
    chunks: kept.chunks,
  };
}

/** A header that identifies an account. It is scrubbed like a JSON field of that name. */
const ACCOUNT_HEADER = /(?:account|organization|user|device)-(?:uu)?id$/iu;

function scrubHeader(
  name: string,
  { value, scrub }: { readonly value: string; readonly scrub: TextScrubber },
): string {
  const [field] = ACCOUNT_HEADER.exec(name) ?? [];
  if (field === undefined) return scrub.text(value);
  const [scrubbed = ""] = Object.values(scrub.value({ [field.replaceAll("-", "_")]: value }));
  return scrubbed;
}

/** Decompresses a response. The result is a single piece if it was compressed, and otherwise the same pieces. */
export function decompress(
  { headers, chunks }: Pick<Exchange["response"], "headers" | "chunks">,
): Pick<Exchange["response"], "headers" | "chunks"> {
  const encoding = headers.find(([name]) => name.toLowerCase() === "content-encoding")?.[1];
  const expand = DECOMPRESSORS[encoding?.trim().toLowerCase() ?? ""];
  const [first] = chunks;
  if (expand === undefined || first === undefined) return { headers, chunks };
  let bytes: Bytes;
  try {
    bytes = new Uint8Array(expand(joinChunks(chunks)));
  } catch {
    bytes = new Uint8Array();
  }
  // The body does not match its header, so clients cannot read it either.
  if (bytes.length === 0) return { headers, chunks };
  return {
    headers: headers.filter(([name]) => !/^content-(?:encoding|length)$/iu.test(name)),
    chunks: [{ ms: first.ms, bytes }],
  };
}

/** The maximum size of a body after decompression. */
const MOST = { maxOutputLength: 256 * 1024 * 1024 };
/** If a response broke off, only its beginning is decompressed. */
const PART = { ...MOST, finishFlush: constants.Z_SYNC_FLUSH };
const PART_OF_BROTLI = { ...MOST, finishFlush: constants.BROTLI_OPERATION_FLUSH };

const DECOMPRESSORS: Readonly<Record<string, (bytes: Bytes) => Uint8Array>> = {
  gzip: (bytes) => gunzipSync(bytes, PART),
  "x-gzip": (bytes) => gunzipSync(bytes, PART),
  deflate: (bytes) => inflateSync(bytes, PART),
  br: (bytes) => brotliDecompressSync(bytes, PART_OF_BROTLI),
};

export function isEventStream(headers: Exchange["response"]["headers"]): boolean {
  return headers.some(([name, value]) =>
    name.toLowerCase() === "content-type" && /^\s*text\/event-stream\b/iu.test(value)
  );
}

/**
 * Scrubs the pieces of a body. The result is cut at the same positions. Bytes that are not UTF-8 are kept.
 *
 * @returns yields how many bytes each step has examined
 */
export function* scrubChunks(
  chunks: readonly Chunk[],
  { isEvents, scrub }: { readonly isEvents: boolean; readonly scrub: TextScrubber },
): Generator<number, readonly Chunk[]> {
  const text = decodeText(joinChunks(chunks));
  if (text === undefined) return chunks;
  const parts = isEvents
    ? yield* scrubEventStream(text, scrub)
    : [[text, scrubText(text, scrub)] as const];
  if (parts.every(([before, after]) => before === after)) return chunks;
  const cut: Chunk[] = [];
  const cutter = createChunkCutter((chunk) => cut.push(chunk));
  for (const { ms, bytes } of chunks) cutter.piece({ ms, size: bytes.length });
  for (const [before, after] of parts) {
    const bytes = encoder.encode(before);
    cutter.part(bytes, before === after ? bytes : encoder.encode(after));
    yield bytes.length;
  }
  return cut;
}

const encoder = new TextEncoder();

function scrubBody(body: Bytes, scrub: TextScrubber): Bytes {
  const text = decodeText(body);
  if (text === undefined || text === "") return body;
  const scrubbed = scrubText(text, scrub);
  return scrubbed === text ? body : encoder.encode(scrubbed);
}

function scrubText(text: string, scrub: TextScrubber): string {
  try {
    const value: unknown = JSON.parse(text);
    const scrubbed = JSON.stringify(scrub.value(value));
    return scrubbed === JSON.stringify(value) ? text : scrubbed;
  } catch {
    // The text is not JSON, or nested too deeply for `JSON.stringify`.
    return scrub.text(text);
  }
}

/** A delta of a text. */
interface Piece {
  readonly line: EventLine;
  readonly text: string;
}

/** A line with its line end, before and after scrubbing. */
type ScrubbedLine = readonly [before: string, after: string];

/**
 * Scrubs an event stream of the Messages API. Deltas of one text are joined, scrubbed, and cut at the same positions.
 * Other data is scrubbed line by line. Lines without changes stay byte for byte.
 *
 * @returns the lines; yields how many characters each step has examined
 */
export function* scrubEventStream(
  text: string,
  scrub: TextScrubber,
): Generator<number, readonly ScrubbedLine[]> {
  const lines: EventLine[] = [];
  for (const [line] of text.matchAll(/[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$/gu)) {
    lines.push(parseEventLine(line));
    yield line.length;
  }
  /** The scrubbed deltas by their lines. */
  const scrubbed = new Map<EventLine, string>();
  // By the index of a block and the field of its deltas.
  const blocks = new Map<string, Map<string, Piece[]>>();
  /** The called tools by the index of their blocks. */
  const tools = new Map<string, string | undefined>();
  const finish = function* (block: string) {
    for (const [field, pieces] of blocks.get(block) ?? []) {
      const texts = scrub.pieces(pieces.map(({ text }) => text), {
        isAnswer: field !== "partial_json",
        tool: tools.get(block),
      });
      let size = 0;
      for (const [index, { line, text }] of pieces.entries()) {
        scrubbed.set(line, texts[index] ?? "");
        size += text.length;
      }
      yield size;
    }
    blocks.delete(block);
  };
  for (const line of lines) {
    const piece = textPieceIn(line);
    if (piece?.kind === "begin") tools.set(piece.block, piece.tool);
    if (piece?.kind === "end") yield* finish(piece.block);
    if (piece?.kind !== "piece") continue;
    const block = blocks.get(piece.block) ?? new Map<string, Piece[]>();
    const pieces = block.get(piece.field) ?? [];
    pieces.push({ line, text: piece.text });
    blocks.set(piece.block, block.set(piece.field, pieces));
  }
  for (const block of [...blocks.keys()]) yield* finish(block);
  const made: ScrubbedLine[] = [];
  for (const line of lines) {
    made.push([line.text, scrubEventLine(line, { scrub, piece: scrubbed.get(line) })]);
    yield line.text.length;
  }
  return made;
}
