import { z } from "zod/mini";
import { CliError } from "../../cli_error.ts";
import { joinedBytes } from "../../joined_bytes.ts";

/** Bytes that own their memory. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** A piece of an answer as it came. */
export interface Chunk {
  /** How long after the request it came, in milliseconds. */
  readonly ms: number;
  readonly bytes: Bytes;
}

/** A recorded request without its headers, which hold keys and noise. */
export interface ExchangeRequest {
  readonly method: string;
  /** Path and query below the base URL. */
  readonly path: string;
  readonly body: Bytes;
}

/** A request to the API and what was answered. */
export interface Exchange {
  /** When the request came, in milliseconds since the epoch. */
  readonly at: number;
  /** The session that made the request, where it says. */
  readonly conversation?: string;
  readonly request: ExchangeRequest;
  readonly response: {
    readonly status: number;
    readonly headers: readonly (readonly [string, string])[];
    readonly chunks: readonly Chunk[];
    /** Whether the answer came to its end; otherwise it breaks off where the last piece ends. */
    readonly whole: boolean;
  };
  /** What was taken out of it besides secrets; absent where nothing was. */
  readonly scrubbed?: readonly ScrubbedPart[];
}

/** What tells of a machine and of who sits at it, what the user wrote, what the model wrote. */
export type ScrubbedPart = (typeof SCRUBBED_PARTS)[number];

const SCRUBBED_PARTS = ["traces", "prompts", "answers"] as const;

/** All pieces of an answer together. */
export function joinChunks(chunks: readonly Chunk[]): Bytes {
  return joinedBytes(chunks.map(({ bytes }) => bytes));
}

/** The format of an exchange's file. */
const FORMAT = 1;

/** Bytes as they are written down: as JSON where that gives the same bytes, as text where they are some, else base64. */
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

/** An exchange as the text of a file, ended by a line feed. */
export function encodeExchange(exchange: Exchange): string {
  return [...encodePieces(exchange)].join("");
}

/** That text piece by piece, for exchanges of which it is long. */
export function* encodePieces(exchange: Exchange): Generator<string, void> {
  const { chunks, ...response } = exchange.response;
  const around = encodeFile(
    { ...exchange, response: { ...response, chunks: [] } },
    (file) => JSON.stringify(file, null, 1),
  );
  // In a string there is no such word, and whatever else bears it stands before.
  const at = around.lastIndexOf(NO_CHUNKS) + NO_CHUNKS.length - 1;
  yield around.slice(0, at);
  for (const [index, chunk] of chunks.entries()) {
    const text = JSON.stringify(chunkOf(chunk), null, 1).replaceAll("\n", "\n   ");
    yield `${index === 0 ? "" : ","}\n   ${text}`;
  }
  yield `${chunks.length === 0 ? "" : "\n  "}${around.slice(at)}\n`;
}

const NO_CHUNKS = '"chunks": []';

/** What is made of an exchange: with its request as JSON, or as text where that is nested more deeply than can be written. */
function encodeFile(
  exchange: Exchange,
  write: (file: ReturnType<typeof fileOf>) => string,
): string {
  try {
    return write(fileOf(exchange, contentOf));
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
    ...(conversation === undefined ? {} : { conversation }),
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
 * Reads the text of an exchange's file.
 *
 * @param path names it in the error
 * @throws {CliError} for anything that is no exchange
 */
export function parseExchange(text: string, path: string): Exchange {
  return exchangeOf(jsonIn(text, path), path);
}

/**
 * Reads a file of an exchange that was being written when its writer was killed: what there is of it, as one that has
 * broken off.
 *
 * @param path names it in the error
 * @returns nothing where not even its head is there
 * @throws {CliError} for anything that is no such file
 */
export function parseUnfinished(text: string, path: string): Exchange | undefined {
  // A line that has no end yet is not whole.
  const [head, ...chunks] = text.split("\n").slice(0, -1);
  if (head === undefined) return undefined;
  const value = jsonIn(head, path);
  const { response } = (value ?? {}) as { readonly response?: object };
  const lines = chunks.map((line) => jsonIn(line, path));
  return exchangeOf(
    { ...Object(value), response: { ...response, chunks: lines, whole: false } },
    path,
  );
}

/** The first line of such a file: all of the exchange but what is answered. */
export function encodeHead(exchange: Exchange): string {
  const head = encodeFile(
    exchange,
    ({ response: { status, headers }, ...file }) =>
      JSON.stringify({ ...file, response: { status, headers } }),
  );
  return `${head}\n`;
}

/** A further line of it: a piece of the answer. */
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
      // What can be parsed is not yet what can be written again.
      throw brokenExchange(path, { why: "it is nested too deeply", cause });
    }
  };
  return {
    at: Date.parse(at),
    ...(conversation === undefined ? {} : { conversation }),
    ...(scrubbed === undefined ? {} : { scrubbed }),
    request: { method, path: asked, body: body === undefined ? new Uint8Array() : bytesIn(body) },
    response: {
      status: response.status,
      headers: [...headers],
      chunks: response.chunks.map(({ ms, body }) => ({ ms, bytes: bytesIn(body) })),
      whole: response.whole,
    },
  };
}

function jsonIn(text: string, path: string): unknown {
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

function contentOf(bytes: Bytes): Content {
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
