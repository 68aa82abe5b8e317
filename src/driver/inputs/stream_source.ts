import { eventReader } from "../../recording/relay/event_stream.ts";
import type { ExchangeWatcher, RelayedRequest } from "../../recording/relay/relay_server.ts";
import type { RequestOffer, StreamedPart } from "../../conversation/control/input.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** A part of the API's answer to a request of the conversation. */
export interface RequestPart {
  readonly request: number;
  readonly part: StreamedPart;
}

/** Collects the API's streams to the child, by watching the relay between the two. */
export class StreamSource {
  /** Called when parts have arrived. */
  onArrival: (() => void) | undefined;
  readonly #sessionId: string;
  readonly #whole: boolean;
  #heard: RequestPart[] = [];
  #requests = 0;

  /** @param options.whole false to collect only the beginnings and ends of answers */
  constructor(
    { sessionId, whole = true }: { readonly sessionId: string; readonly whole?: boolean },
  ) {
    this.#sessionId = sessionId;
    this.#whole = whole;
  }

  /** Watches a request if it belongs to the conversation, because subagents and other sessions also use the relay. */
  readonly watch = (request: RelayedRequest): ExchangeWatcher | undefined => {
    if (!isConversationRequest(request, this.#sessionId)) return undefined;
    const text = new TextDecoder().decode(request.body);
    if (!isForStream(text) || isForSummary(text)) return undefined;
    const number = ++this.#requests;
    const hear = (...parts: readonly StreamedPart[]) => {
      if (parts.length === 0) return;
      this.#heard.push(...parts.map((part) => ({ request: number, part })));
      this.onArrival?.();
    };
    let stream: StreamReader | undefined;
    let isBroken = false;
    const take = (bytes: Uint8Array, read: ReturnType<typeof eventReader>) => {
      for (const { name, data } of read(bytes)) {
        const event = parseEvent(data);
        isBroken ||= event === undefined && ANSWER_EVENT.test(name);
        if (isBroken) return;
        if (event === undefined) continue;
        if (this.#whole || name !== "content_block_delta") hear({ kind: "event", event });
      }
    };
    const offer = number === 1 ? readOffer(request) : undefined;
    hear({ kind: "request", ...(offer === undefined ? {} : { offer }) });
    return {
      onHead: ({ status, headers }) => {
        if (this.#whole && usesSubscription(request)) hear(...readLimits({ status, headers }));
        const isStream = headers.get("content-type")?.startsWith("text/event-stream");
        if (status !== 200 || !isStream) return;
        const read = eventReader();
        stream = openDecoder(headers.get("content-encoding"), (bytes) => take(bytes, read));
      },
      onBytes: (bytes) => stream?.push(bytes),
      onEnd: () => {
        const end = () => hear({ kind: "end" });
        if (stream === undefined) end();
        else stream.end(end);
      },
    };
  };

  /** Takes the parts since the last call. */
  take(): readonly RequestPart[] {
    const heard = this.#heard;
    if (heard.length > 0) this.#heard = [];
    return heard;
  }
}

/** Decodes the body of an answer as it arrives. */
interface StreamReader {
  readonly push: (bytes: Uint8Array) => void;
  /** Ends the body, and calls back when it has been completely decoded. */
  readonly end: (onEnd: () => void) => void;
}

/** Content encodings by their names in HTTP. An upstream may use one although the request accepts none. */
const ENCODINGS: ReadonlyMap<string, CompressionFormat> = new Map([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
  ["br", "brotli"],
]);

/** Opens a decoder; undefined for unknown encodings. A body that is not encoded as declared is ignored. */
function openDecoder(
  encoding: string | null,
  take: (bytes: Uint8Array) => void,
): StreamReader | undefined {
  if (encoding === null || encoding === "identity") {
    return { push: take, end: (onEnd) => onEnd() };
  }
  const format = ENCODINGS.get(encoding.toLowerCase());
  if (format === undefined) return undefined;
  const { readable, writable } = new DecompressionStream(format);
  const writer = writable.getWriter();
  const all = readable.pipeTo(new WritableStream({ write: take })).catch(() => {});
  return {
    push: (bytes) => void writer.write(new Uint8Array(bytes)).catch(() => {}),
    end: (onEnd) => {
      void writer.close().catch(() => {});
      void all.then(onEnd);
    },
  };
}

/**
 * Whether a request belongs to the conversation, by the headers of 2.1.330: subagents send an agent id, other requests
 * send a class, and a headless helper, which may ask a model for a title, has another user agent.
 */
function isConversationRequest(
  { method, path, headers }: RelayedRequest,
  sessionId: string,
): boolean {
  return method === "POST" && /\/v1\/messages(?:\?|$)/u.test(path) &&
    headers.get("x-claude-code-session-id") === sessionId &&
    !headers.has("x-claude-code-agent-id") &&
    !headers.get("user-agent")?.includes(", sdk-cli)") &&
    [null, "main"].includes(headers.get("x-claude-code-request-class"));
}

/** Whether Claude Code is logged in with a subscription. The API sends limits only for subscriptions. */
function usesSubscription({ headers }: RelayedRequest): boolean {
  return hasBeta(headers, "oauth-");
}

/** Reads the tools and the speed that a request offers the model; undefined if the body cannot be parsed. */
function readOffer({ body, headers }: RelayedRequest): RequestOffer | undefined {
  try {
    const { tools } = JSON.parse(new TextDecoder().decode(body)) as { readonly tools?: unknown };
    if (!Array.isArray(tools)) return undefined;
    const names = tools.map((tool: unknown) => isJsonObject(tool) ? tool["name"] : undefined)
      .filter((name) => typeof name === "string");
    return { tools: names, fast: hasBeta(headers, "fast-mode-") };
  } catch {
    return undefined;
  }
}

function hasBeta(headers: Headers, start: string): boolean {
  return headers.get("anthropic-beta")?.split(",").some((beta) => beta.startsWith(start)) === true;
}

/** The beginning of all headers about the limits of a subscription. */
const LIMIT_HEADERS = "anthropic-ratelimit-unified-";

function readLimits(
  { status, headers }: { readonly status: number; readonly headers: Headers },
): readonly StreamedPart[] {
  if (status === 429) return [{ kind: "limits" }];
  if (status !== 200) return [];
  const told = [...headers].filter(([name]) => name.startsWith(LIMIT_HEADERS))
    .map(([name, value]) => [name.slice(LIMIT_HEADERS.length), value]);
  return [{
    kind: "limits",
    limits: { headers: Object.fromEntries(told), now: Date.now() / 1000 },
  }];
}

/**
 * Whether a request asks for a stream. After a broken stream, Claude Code repeats the request without a stream, and no
 * part of that answer is reported. Inside a JSON string, the quotes would be escaped.
 */
function isForStream(text: string): boolean {
  return text.includes('"stream":true');
}

/** The beginning of the prompt that asks for the summary of a compaction (2.1.330). */
const SUMMARY = "Your task is to create a detailed summary of";

/**
 * Whether a request is for the summary of a compaction. Only its last message shows this, because headers, model and
 * tools are equal.
 */
function isForSummary(text: string): boolean {
  // Parsing a long conversation takes time, and few conversations contain these words.
  if (!text.includes(SUMMARY)) return false;
  try {
    const { messages } = JSON.parse(text) as { readonly messages?: unknown };
    const last: unknown = Array.isArray(messages) ? messages.at(-1) : undefined;
    return isJsonObject(last) && textsOf(last["content"]).some((each) => each.includes(SUMMARY));
  } catch {
    return false;
  }
}

function textsOf(content: unknown): readonly string[] {
  if (typeof content === "string") return [content];
  return (Array.isArray(content) ? content : [])
    .map((block: unknown) => isJsonObject(block) && block["type"] === "text" ? block["text"] : "")
    .filter((text) => typeof text === "string");
}

/**
 * Events that Claude Code reads. If the data of such an event is no JSON, Claude Code abandons the answer. It ignores
 * other events.
 */
const ANSWER_EVENT = /^(?:message|content_block)_/u;

function parseEvent(data: string): JsonObject | undefined {
  try {
    const event: unknown = JSON.parse(data);
    return isJsonObject(event) && typeof event["type"] === "string" ? event : undefined;
  } catch {
    return undefined;
  }
}
