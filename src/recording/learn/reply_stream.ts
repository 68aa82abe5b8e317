import type { MessagesRequest, Reply, ReplyStep, StopReason } from "./reply_script.ts";

/** A content block of an assistant message. */
type ContentBlock =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly thinking: string; readonly signature: string }
  | {
    readonly type: "tool_use";
    readonly id: string;
    readonly name: string;
    readonly input: Readonly<Record<string, unknown>>;
  };

/** An assistant message, as a request without `stream` gets it. */
interface AssistantMessage {
  readonly id: string;
  readonly type: "message";
  readonly role: "assistant";
  readonly model: string;
  readonly content: readonly ContentBlock[];
  readonly stop_reason: StopReason;
  readonly stop_sequence: null;
  readonly usage: ReplyUsage;
}

/** A part of a streamed answer: an event, a pause, or what cuts the answer short. */
type StreamPart =
  | { readonly kind: "event"; readonly event: { readonly type: string } }
  | Extract<ReplyStep, { kind: "wait" | "until" | "hang" | "reset" | "error" }>;

/** The complete message that a reply's content steps make. */
export function assistantMessage(
  reply: Reply,
  request: MessagesRequest,
): AssistantMessage {
  const content = reply.flatMap((step) => contentBlock(step) ?? []);
  const stop = reply.findLast((step) => step.kind === "stop");
  return {
    id: `msg_01${randomId()}`,
    type: "message",
    role: "assistant",
    model: request.model,
    content,
    stop_reason: stop?.reason ??
      (content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn"),
    stop_sequence: null,
    usage: replyUsage(request, content.reduce((sum, block) => sum + writtenText(block).length, 0)),
  };
}

/**
 * The parts of a streamed answer, in the order and shape of the Messages API: `message_start`, for
 * each block start, deltas and stop, then `message_delta` with the stop reason and `message_stop`.
 */
export function* replyStream(reply: Reply, request: MessagesRequest): Generator<StreamPart> {
  const message = assistantMessage(reply, request);
  let pace = 0;
  let chunk: number | undefined;
  let index = 0;
  yield event({
    type: "message_start",
    message: {
      ...message,
      content: [],
      stop_reason: null,
      usage: { ...message.usage, output_tokens: 1 },
    },
  });
  yield event({ type: "ping" });
  for (const step of reply) {
    switch (step.kind) {
      case "pace":
        pace = step.milliseconds;
        break;
      case "chunk":
        chunk = step.size;
        break;
      case "stop":
        break;
      case "wait":
      case "until":
      case "hang":
      case "reset":
      case "error":
        yield step;
        break;
      case "text":
      case "thinking":
      case "tool": {
        const block = message.content[index];
        if (block === undefined) break;
        yield event({ type: "content_block_start", index, content_block: withoutContent(block) });
        for (const delta of deltas(block, chunk)) {
          yield event({ type: "content_block_delta", index, delta });
          if (pace > 0) yield { kind: "wait", milliseconds: pace };
        }
        yield event({ type: "content_block_stop", index });
        index++;
        break;
      }
    }
  }
  yield event({
    type: "message_delta",
    delta: { stop_reason: message.stop_reason, stop_sequence: null },
    usage: message.usage,
  });
  yield event({ type: "message_stop" });
}

function event(event: { readonly type: string; readonly [key: string]: unknown }): StreamPart {
  return { kind: "event", event };
}

function contentBlock(step: ReplyStep): ContentBlock | undefined {
  switch (step.kind) {
    case "text":
      return { type: "text", text: step.text };
    case "thinking":
      return { type: "thinking", thinking: step.text, signature: btoa(`signed ${randomId()}`) };
    case "tool":
      return { type: "tool_use", id: `toolu_01${randomId()}`, name: step.name, input: step.input };
    case "wait":
    case "until":
    case "pace":
    case "chunk":
    case "stop":
    case "hang":
    case "reset":
    case "error":
      return undefined;
  }
}

/** A random id with the length of Anthropic's ids, without their prefix. */
function randomId(): string {
  return crypto.randomUUID().replaceAll("-", "").slice(0, 22);
}

function writtenText(block: ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "thinking":
      return block.thinking;
    case "tool_use":
      return JSON.stringify(block.input);
  }
}

function withoutContent(block: ContentBlock): ContentBlock {
  switch (block.type) {
    case "text":
      return { type: "text", text: "" };
    case "thinking":
      return { type: "thinking", thinking: "", signature: "" };
    case "tool_use":
      return { ...block, input: {} };
  }
}

function* deltas(block: ContentBlock, chunk: number | undefined): Generator<{ type: string }> {
  const pieces = cutIntoPieces(writtenText(block), chunk);
  switch (block.type) {
    case "text":
      for (const text of pieces) yield delta({ type: "text_delta", text });
      break;
    case "thinking":
      for (const thinking of pieces) yield delta({ type: "thinking_delta", thinking });
      yield delta({ type: "signature_delta", signature: block.signature });
      break;
    case "tool_use":
      for (const partial_json of pieces) yield delta({ type: "input_json_delta", partial_json });
      break;
  }
}

function delta<T extends { readonly type: string }>(delta: T): T {
  return delta;
}

/** Cuts a text into pieces of `size` UTF-16 units, by default so that there are at most 200. */
function cutIntoPieces(
  text: string,
  size = Math.max(24, Math.ceil(text.length / 200)),
): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  while (start < text.length) {
    let end = Math.min(start + size, text.length);
    // A surrogate pair split over two pieces would not survive their way as UTF-8.
    if (end < text.length && /[\uD800-\uDBFF]/.test(text[end - 1] ?? "")) end++;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

/** The token counts of one message, as the Messages API reports them. */
interface ReplyUsage {
  readonly input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly output_tokens: number;
  readonly cache_creation: {
    readonly ephemeral_5m_input_tokens: number;
    readonly ephemeral_1h_input_tokens: number;
  };
  readonly service_tier: "standard";
}

/** Tokens that the system prompt and the tools count, whatever their length. */
const PREAMBLE_TOKENS = 12_000;

/** Tokens of a request that are not cached: Claude Code leaves a few after its last breakpoint. */
const UNCACHED_TOKENS = 3;

/**
 * Token counts for an answer of `outputCharacters`.
 *
 * They depend only on the texts of user, assistant and tools, at four characters a token. System prompt, reminders
 * and tools count as a constant, so that a conversation costs the same in print mode and in the TUI. Everything
 * before the newest messages comes from the cache; the newest are written to it.
 */
export function replyUsage(request: MessagesRequest, outputCharacters: number): ReplyUsage {
  const { messages } = request;
  const lastAnswer = messages.findLastIndex(({ role }) => role === "assistant");
  const known = lastAnswer < 0 ? 0 : PREAMBLE_TOKENS + tokens(messages.slice(0, lastAnswer));
  const total = PREAMBLE_TOKENS + tokens(messages);
  return {
    input_tokens: UNCACHED_TOKENS,
    cache_creation_input_tokens: total - known,
    cache_read_input_tokens: known,
    output_tokens: Math.max(1, Math.ceil(outputCharacters / 4)),
    cache_creation: {
      ephemeral_5m_input_tokens: total - known,
      ephemeral_1h_input_tokens: 0,
    },
    service_tier: "standard",
  };
}

/** The path of a throw-away home, and what is counted in its place: its length depends on the machine. */
const HOME = /(?:\/[^\s/"'\\]+)*\/home-\d+-[\da-f]{8}(?![\da-f])/gu;
const ANY_HOME = "/tmp/home-12345-12345678";

function tokens(messages: MessagesRequest["messages"]): number {
  return messages.reduce((sum, message) => sum + Math.ceil(characters(message) / 4), 0);
}

function characters({ role, content }: MessagesRequest["messages"][number]): number {
  if (role === "system") return 0;
  if (typeof content === "string") return lengthOf(content);
  return content.reduce((sum, block) => sum + blockCharacters(block), 0);
}

function blockCharacters(block: Readonly<Record<string, unknown>>): number {
  if (typeof block.text === "string") {
    return block.text.trimStart().startsWith("<system-reminder>") ? 0 : lengthOf(block.text);
  }
  return lengthOf(JSON.stringify(block.content ?? block.input ?? ""));
}

function lengthOf(text: string): number {
  return text.replaceAll(HOME, ANY_HOME).length;
}

/** An error response of the Messages API. */
interface ApiError {
  readonly status: number;
  readonly body: {
    readonly type: "error";
    readonly error: { readonly type: string; readonly message: string };
    readonly request_id: string;
  };
  readonly headers: Readonly<Record<string, string>>;
}

type ErrorStep = Extract<ReplyStep, { kind: "error" }>;

/**
 * The Messages API's error for a scripted failure.
 *
 * The types and sentences are those Claude Code 2.1.330 tells apart: an authentication failure, a
 * too long prompt, an empty credit balance, a rate limit with the account's unified headers.
 */
export function apiError(step: ErrorStep, requestId: string): ApiError {
  const { type, message } = knownError(step);
  return {
    status: step.status,
    body: {
      type: "error",
      error: { type, message: step.message ?? message },
      request_id: requestId,
    },
    headers: {
      "request-id": requestId,
      ...flavourHeaders(step),
      ...(step.retryAfter === undefined ? {} : { "retry-after": `${step.retryAfter}` }),
    },
  };
}

function knownError(step: ErrorStep): { readonly type: string; readonly message: string } {
  switch (step.flavour) {
    case "too-long":
      return {
        type: "invalid_request_error",
        message: "prompt is too long: 210000 tokens > 200000 maximum",
      };
    case "credit":
      return {
        type: "invalid_request_error",
        message: "Your credit balance is too low to access the Anthropic API. " +
          "Please go to Plans & Billing to upgrade or purchase credits.",
      };
    case "plain":
    case "unified":
    case "no-retry":
      return byStatus(step.status);
  }
}

function byStatus(status: number): { readonly type: string; readonly message: string } {
  switch (status) {
    case 400:
      return { type: "invalid_request_error", message: "messages: scripted invalid request" };
    case 401:
      return { type: "authentication_error", message: "Invalid bearer token" };
    case 403:
      return {
        type: "permission_error",
        message: "OAuth authentication is currently not allowed for this organization.",
      };
    case 404:
      return { type: "not_found_error", message: "model: scripted-model" };
    case 413:
      return {
        type: "request_too_large",
        message: "Request exceeds the maximum size",
      };
    case 429:
      return {
        type: "rate_limit_error",
        message: "This request would exceed your account's rate limit. Please try again later.",
      };
    case 529:
      return { type: "overloaded_error", message: "Overloaded" };
    default:
      return status >= 500
        ? { type: "api_error", message: "Internal server error" }
        : { type: "invalid_request_error", message: `scripted status ${status}` };
  }
}

function flavourHeaders(step: ErrorStep): Readonly<Record<string, string>> {
  switch (step.flavour) {
    case "no-retry":
      return { "x-should-retry": "false" };
    case "unified": {
      const { retryAfter = 3600 } = step;
      const reset = Math.floor(Date.now() / 1000) + retryAfter;
      return {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": `${reset}`,
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
        "anthropic-ratelimit-unified-fallback": "unavailable",
        "anthropic-ratelimit-unified-overage-status": "rejected",
        "anthropic-ratelimit-unified-overage-disabled-reason": "org_level_disabled",
        "retry-after": `${retryAfter}`,
      };
    }
    case "plain":
    case "too-long":
    case "credit":
      return {};
  }
}
