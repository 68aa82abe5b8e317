import { z } from "zod/mini";
import { CliError } from "../../cli_error.ts";
import { joinedBytes } from "../../joined_bytes.ts";
import { definedFields } from "../../defined_fields.ts";

/** Bytes that are not in shared memory, as `fetch` and files take them. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** A piece of a response body as it arrived. */
export interface Chunk {
  /** When it arrived, in milliseconds after the request. */
  readonly ms: number;
  readonly bytes: Bytes;
}

/** A recorded request. Headers are not recorded, because they contain keys. */
export interface ExchangeRequest {
  readonly method: string;
  /** Path and query below the base URL. */
  readonly path: string;
  readonly body: Bytes;
}

/** A request to the API and its response. */
export interface Exchange {
  /** When the request came, in milliseconds since the epoch. */
  readonly at: number;
  /** The session that made the request, if the request named it. */
  readonly conversation?: string;
  readonly request: ExchangeRequest;
  readonly response: {
    readonly status: number;
    readonly headers: readonly (readonly [string, string])[];
    readonly chunks: readonly Chunk[];
    /** False if the response broke off after the last piece. */
    readonly whole: boolean;
  };
  /** The parts that were removed from the exchange, in addition to secrets; absent for none. */
  readonly scrubbed?: readonly ScrubbedPart[];
}

/** Traces of the machine and its user, texts of the user, texts of the model. */
export type ScrubbedPart = (typeof SCRUBBED_PARTS)[number];

const SCRUBBED_PARTS = ["traces", "prompts", "answers"] as const;

export function joinChunks(chunks: readonly Chunk[]): Bytes {
  return joinedBytes(chunks.map(({ bytes }) => bytes));
}

/** The version of the file format. */
const FORMAT = 1;

/**
 * The form of bytes in a file: JSON if it gives the same bytes again, else text if they are valid UTF-8, else base64.
 */
const contentShape = z.union([
  z.object({ json: z.unknown() }),
  z.object({ text: z.string() }),
  z.object({ base64: z.string().check(z.regex(/^[A-Za-z0-9+/]*={0,2}$/u)) }),
]);
type Content = z.infer<typeof contentShape>;

const exchangeShape = z.object({
  format: z.literal(FORMAT),
  at: z.iso.datetime(),
  conversation: z.exactOptional(z.string()),
  scrubbed: z.exactOptional(z.array(z.enum(SCRUBBED_PARTS))),
  request: z.object({ method: z.string(), path: z.string(), body: z.exactOptional(contentShape) }),
  response: z.object({
    status: z.int().check(z.minimum(200), z.maximum(599)),
    headers: z.array(z.tuple([z.string(), z.string()])),
    chunks: z.array(z.object({ ms: z.number().check(z.nonnegative()), body: contentShape })),
    whole: z.boolean(),
  }),
});

/** Returns an exchange as the text of a file. */
export function encodeExchange(exchange: Exchange): string {
  return [...encodePieces(exchange)].join("");
}

/** Returns the text of `encodeExchange` in pieces, because an exchange may be long. */
export function* encodePieces(exchange: Exchange): Generator<string, void> {
  const { chunks, ...response } = exchange.response;
  const around = encodeFile(
    { ...exchange, response: { ...response, chunks: [] } },
    (file) => JSON.stringify(file, null, 1),
  );
  // JSON strings cannot contain this unescaped text, and the only other field that may have it comes earlier.
  const at = around.lastIndexOf(NO_CHUNKS) + NO_CHUNKS.length - 1;
  yield around.slice(0, at);
  for (const [index, chunk] of chunks.entries()) {
    const text = JSON.stringify(chunkOf(chunk), null, 1).replaceAll("\n", "\n   ");
    yield `${index === 0 ? "" : ","}\n   ${text}`;
  }
  yield `${chunks.length === 0 ? "" : "\n  "}${around.slice(at)}\n`;
}

const NO_CHUNKS = '"chunks": []';

/** Writes a file. A request that is nested too deeply for `JSON.stringify` is written as text instead of JSON. */
function encodeFile(
  exchange: Exchange,
  write: (file: ReturnType<typeof fileOf>) => string,
): string {
  try {
    return write(fileOf(exchange, encodeContent));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return write(fileOf(exchange, pieceOf));
  }
}

function fileOf(
  { at, conversation, scrubbed, request, response }: Exchange,
  contentOf: (bytes: Bytes) => Content,
): z.infer<typeof exchangeShape> {
  const { method, path, body } = request;
  return {
    format: FORMAT,
    at: new Date(at).toISOString(),
    ...definedFields({ conversation }),
    ...(scrubbed === undefined ? {} : { scrubbed: [...scrubbed] }),
    request: { method, path, ...(body.length === 0 ? {} : { body: contentOf(body) }) },
    response: {
      status: response.status,
      headers: response.headers.map(([name, value]) => [name, value]),
      chunks: response.chunks.map(chunkOf),
      whole: response.whole,
    },
  };
}

function chunkOf({ ms, bytes }: Chunk): { readonly ms: number; readonly body: Content } {
  return { ms, body: pieceOf(bytes) };
}

/**
 * Parses the text of an exchange's file.
 *
 * @param path names the file in errors
 * @throws {CliError} for any other text
 */
export function parseExchange(text: string, path: string): Exchange {
  return exchangeOf(parseJsonOrThrow(text, path), path);
}

/**
 * Parses the file of an exchange whose writer was killed. The result is an exchange that broke off.
 *
 * @param path names the file in errors
 * @returns undefined if not even the head is complete
 * @throws {CliError} for any other text
 */
export function parseUnfinished(text: string, path: string): Exchange | undefined {
  // A last line without a line end is incomplete.
  const [head, ...chunks] = text.split("\n").slice(0, -1);
  if (head === undefined) return undefined;
  const value = parseJsonOrThrow(head, path);
  const { response } = (value ?? {}) as { readonly response?: object };
  const lines = chunks.map((line) => parseJsonOrThrow(line, path));
  return exchangeOf(
    { ...Object(value), response: { ...response, chunks: lines, whole: false } },
    path,
  );
}

/** Returns the first line of an unfinished exchange: everything except the body of the response. */
export function encodeHead(exchange: Exchange): string {
  const head = encodeFile(
    exchange,
    ({ response: { status, headers }, ...file }) =>
      JSON.stringify({ ...file, response: { status, headers } }),
  );
  return `${head}\n`;
}

/** Returns a further line of an unfinished exchange: a piece of the response. */
export function encodeChunk(chunk: Chunk): string {
  return `${JSON.stringify(chunkOf(chunk))}\n`;
}

function exchangeOf(value: unknown, path: string): Exchange {
  const { at, conversation, scrubbed, request, response } = validate(value, path);
  const { method, path: asked, body } = request;
  const headers = new Headers();
  try {
    for (const [name, value] of response.headers) headers.append(name, value);
  } catch (cause) {
    throw brokenExchange(path, { why: "its response has a header that is none", cause });
  }
  const bytesIn = (content: Content) => {
    try {
      return bytesOf(content);
    } catch (cause) {
      // `JSON.parse` accepts deeper values than `JSON.stringify`.
      throw brokenExchange(path, { why: "it is nested too deeply", cause });
    }
  };
  return {
    at: Date.parse(at),
    ...definedFields({ conversation, scrubbed }),
    request: { method, path: asked, body: body === undefined ? new Uint8Array() : bytesIn(body) },
    response: {
      status: response.status,
      headers: [...headers],
      chunks: response.chunks.map(({ ms, body }) => ({ ms, bytes: bytesIn(body) })),
      whole: response.whole,
    },
  };
}

function parseJsonOrThrow(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw brokenExchange(path, { why: "it is no JSON", cause });
  }
}

function validate(value: unknown, path: string): z.infer<typeof exchangeShape> {
  const { format } = (value ?? {}) as { readonly format?: unknown };
  if (typeof format === "number" && format > FORMAT) {
    throw brokenExchange(path, {
      why: `it has format ${format}, and this version knows ${FORMAT}`,
    });
  }
  const { success, data, error } = z.safeParse(exchangeShape, value);
  if (success) return data;
  const [issue] = error.issues;
  const where = (issue?.path ?? []).join(".");
  throw brokenExchange(path, {
    why: `${where === "" ? "it" : where}: ${issue?.message ?? "unknown"}`,
  });
}

function brokenExchange(
  path: string,
  { why, cause }: { readonly why: string; readonly cause?: unknown },
): CliError {
  return new CliError(`Cannot read the exchange ${path}: ${why}`, {
    suggestion: "Restore the file, or remove it and record it again",
    cause,
  });
}

const encoder = new TextEncoder();

function encodeContent(bytes: Bytes): Content {
  const content = pieceOf(bytes);
  if (!("text" in content)) return content;
  try {
    const json: unknown = JSON.parse(content.text);
    return JSON.stringify(json) === content.text ? { json } : content;
  } catch {
    return content;
  }
}

function pieceOf(bytes: Bytes): Content {
  const text = decodeText(bytes);
  return text === undefined ? { base64: bytes.toBase64() } : { text };
}

/** Returns bytes as text; undefined if they are not valid UTF-8. */
export function decodeText(bytes: Bytes): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function bytesOf(content: Content): Bytes {
  if ("base64" in content) return Uint8Array.fromBase64(content.base64);
  return encoder.encode("text" in content ? content.text : JSON.stringify(content.json));
}
