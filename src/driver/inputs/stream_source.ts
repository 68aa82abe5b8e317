import { eventReader } from "../../recording/relay/event_stream.ts";
import type { ExchangeWatcher, RelayedRequest } from "../../recording/relay/relay_server.ts";
import type { RequestOffer, StreamedPart } from "../../conversation/control/input.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** A part of what the API streams for the conversation itself. */
export interface RequestPart {
  readonly request: number;
  readonly part: StreamedPart;
}

/** Hears what the API streams to the child, from the relay between the two. */
export class StreamSource {
  /** Called when there is something to take. */
  onArrival: (() => void) | undefined;
  readonly #sessionId: string;
  readonly #whole: boolean;
  #heard: RequestPart[] = [];
  #requests = 0;

  /** @param options.whole whether it tells all that is streamed, as by default, or only what tells when something came */
  constructor(
    { sessionId, whole = true }: { readonly sessionId: string; readonly whole?: boolean },
  ) {
    this.#sessionId = sessionId;
    this.#whole = whole;
  }

  /** Looks on at a request if it is one of the conversation itself; subagents and other sessions make requests too. */
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

  /** What has been heard since the last time. */
  take(): readonly RequestPart[] {
    const heard = this.#heard;
    if (heard.length > 0) this.#heard = [];
    return heard;
  }
}

/** Takes the bytes of an answer as they come. */
interface StreamReader {
  readonly push: (bytes: Uint8Array) => void;
  /** Nothing more comes. */
  readonly end: (onEnd: () => void) => void;
}

/** By their names in HTTP, the encodings that an upstream may use though it is asked for none. */
const ENCODINGS: ReadonlyMap<string, CompressionFormat> = new Map([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["deflate", "deflate"],
  ["br", "brotli"],
]);

/** Undoes an encoding, where that is known how; what does not hold to it is no stream of events. */
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
 * Whether a request is one of the conversation itself, by the headers of 2.1.330: subagents have an id, 2.1.330
 * says what else a request is for, and a headless helper, which may have a model make a title, names itself.
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

/** Whether Claude Code asks for somebody with a subscription, whose limits the API tells. */
function usesSubscription({ headers }: RelayedRequest): boolean {
  return hasBeta(headers, "oauth-");
}

/** What the model is offered, if the request is one that can be understood. */
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

/** What all headers begin with that are about the limits of a subscription. */
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
 * Whether a stream is asked for: after one that broke off Claude Code asks once more for the whole answer, of which
 * nothing is told while it comes. Within a text the quotes would not stand like that.
 */
function isForStream(text: string): boolean {
  return text.includes('"stream":true');
}

/** With this a compaction asks for its summary, after all of the conversation (2.1.330). */
const SUMMARY = "Your task is to create a detailed summary of";

/**
 * Whether a request is for the summary of a compaction. Only what it asks in the end says so: its headers, model and
 * tools are those of the conversation.
 */
function isForSummary(text: string): boolean {
  // Conversations are long, and hardly one has these words in it.
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

/** Events that Claude Code reads: at one of them that is no JSON it gives the answer up, and passes over others. */
const ANSWER_EVENT = /^(?:message|content_block)_/u;

function parseEvent(data: string): JsonObject | undefined {
  try {
    const event: unknown = JSON.parse(data);
    return isJsonObject(event) && typeof event["type"] === "string" ? event : undefined;
  } catch {
    return undefined;
  }
}
