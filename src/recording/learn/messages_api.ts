import { apiError, assistantMessage, replyStream, replyUsage } from "./reply_stream.ts";
import {
  type MessagesRequest,
  messagesRequest,
  readReplyScript,
  type Reply,
  ReplyScriptError,
  type ReplyStep,
  type ScriptPosition,
  scriptPosition,
} from "./reply_script.ts";

/**
 * The kind of a request: a step of a conversation, a small question of Claude Code's own (title, quota, classifier),
 * a token count, an OAuth token request, or another.
 */
type RequestKind = "turn" | "auxiliary" | "count_tokens" | "oauth" | "other";

/** One request that reached the scripted API. */
export interface LoggedRequest {
  readonly kind: RequestKind;
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body parsed as JSON, undefined if it is not JSON. */
  readonly body: unknown;
  /** The body as it came. */
  readonly text: string;
  /** The user's prompt that this request answers, for a turn. */
  readonly prompt?: string;
  /** How many assistant messages followed that prompt, for a turn. */
  readonly round?: number;
  /** Arrival, milliseconds since the epoch. */
  readonly at: number;
}

/** How the OAuth token endpoint answers a refresh. */
type OauthAnswer = "new-tokens" | "invalid-grant" | "server-error";

/** Settings of the scripted Messages API. */
export interface MessagesApiOptions {
  /** Returns a reply; undefined leaves the request to the prompt's script. */
  readonly reply?: (request: LoggedRequest) => Reply | undefined;
  /** The answer to a prompt without directives, and after a script has run out. */
  readonly defaultText?: string;
  /** Additional headers of every message, such as those about a limit. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The token endpoint's answer, new tokens by default; a function gets the number of the call, from 1. */
  readonly oauth?: OauthAnswer | ((call: number) => OauthAnswer);
}

/** A running scripted Messages API. */
export interface MessagesApi extends AsyncDisposable {
  /** Base URL without a slash at the end, for ANTHROPIC_BASE_URL. */
  readonly url: string;
  /** Every request so far, in order of arrival. */
  readonly requests: readonly LoggedRequest[];
  /** The requests that are steps of a conversation. */
  readonly turns: readonly LoggedRequest[];
  /** Token refreshes that were answered with new tokens. */
  readonly refreshes: number;
  /** Answers a request from another source than `url`, such as an `HttpsProxy`. */
  readonly answer: (request: Request) => Promise<Response>;
}

/**
 * Starts a Messages API on loopback that replies as the prompt asks.
 *
 * The user's last prompt may have directives (see `readReplyScript`). The n-th request of the turn gets the n-th
 * reply of the script. Without directives, and after the last reply, the reply is the default text. Claude Code's own
 * questions get harmless answers. Every other endpoint returns 404 at once, with which Claude Code starts without a
 * delay.
 *
 * Disposing it cuts every open connection.
 */
export function startMessagesApi(options: MessagesApiOptions = {}): MessagesApi {
  const requests: LoggedRequest[] = [];
  const attempts = new Map<string, number>();
  const stopped = new AbortController();
  let refreshes = 0;
  let oauthCalls = 0;

  const answer = async (request: Request): Promise<Response> => {
    const logged = await logRequest(request);
    if (logged === undefined) return new Response(null, { status: 400 });
    requests.push(logged);
    switch (logged.kind) {
      case "oauth": {
        oauthCalls++;
        const outcome = typeof options.oauth === "function"
          ? options.oauth(oauthCalls)
          : options.oauth ?? "new-tokens";
        if (outcome === "new-tokens") refreshes++;
        return oauthResponse(outcome, refreshes);
      }
      case "count_tokens":
        return countTokens(logged);
      case "turn":
      case "auxiliary": {
        const question = messagesRequest(logged.body);
        if (question === undefined) return notFound();
        return await respond(planReply(logged, question, { options, attempts }), {
          question,
          signal: stopped.signal,
          headers: options.headers ?? {},
        });
      }
      case "other":
        return logged.method === "HEAD" ? new Response(null) : notFound();
    }
  };

  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {}, signal: stopped.signal },
    answer,
  );
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    requests,
    answer,
    get turns() {
      return requests.filter(({ kind }) => kind === "turn");
    },
    get refreshes() {
      return refreshes;
    },
    async [Symbol.asyncDispose]() {
      stopped.abort();
      await server.finished;
    },
  };
}

/**
 * The reply to a request: that of the options, that of the prompt's script, or the default text.
 *
 * @param options.attempts how often each reply was requested; a step with `times` is left out after that many attempts
 */
function planReply(
  logged: LoggedRequest,
  question: MessagesRequest,
  { options, attempts }: {
    readonly options: MessagesApiOptions;
    readonly attempts: Map<string, number>;
  },
): Reply {
  const steered = options.reply?.(logged);
  if (steered === undefined && logged.kind === "auxiliary") return auxiliaryReply(question);
  const position = { prompt: logged.prompt ?? "", round: logged.round ?? 0 };
  const reply = steered ?? scriptedReplies(position.prompt)[position.round] ??
    [{ kind: "text", text: options.defaultText ?? "Hello from the scripted API" }];
  const key = JSON.stringify([logged.headers["x-claude-code-session-id"], position]);
  const attempt = attempts.get(key) ?? 0;
  attempts.set(key, attempt + 1);
  return reply.filter((step) => !("times" in step) || attempt < step.times);
}

/** The replies of the prompt's script. A mistake in the script becomes an error that ends the run and names it. */
function scriptedReplies(prompt: string): readonly Reply[] {
  try {
    return readReplyScript(prompt);
  } catch (cause) {
    if (!(cause instanceof ReplyScriptError)) throw cause;
    return [[{ kind: "error", status: 400, flavour: "plain", message: cause.message }]];
  }
}

/** Reads a complete request; undefined if its sender has gone. */
async function logRequest(request: Request): Promise<LoggedRequest | undefined> {
  const at = Date.now();
  const text = await request.text().catch(() => undefined);
  if (text === undefined) return undefined;
  const url = new URL(request.url);
  const body = parsedJson(text);
  const question = messagesRequest(body);
  const kind = requestKind(url.pathname, { method: request.method, question });
  const position: ScriptPosition | undefined = kind === "turn" && question !== undefined
    ? scriptPosition(question.messages)
    : undefined;
  return {
    kind,
    method: request.method,
    path: url.pathname + url.search,
    headers: Object.fromEntries(request.headers),
    body,
    text,
    ...position,
    at,
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function requestKind(
  path: string,
  { method, question }: { readonly method: string; readonly question: MessagesRequest | undefined },
): RequestKind {
  if (method !== "POST") return "other";
  if (path === "/v1/oauth/token") return "oauth";
  if (path === "/v1/messages/count_tokens") return "count_tokens";
  if (path !== "/v1/messages" || question === undefined) return "other";
  return isAuxiliary(question) ? "auxiliary" : "turn";
}

/** Claude Code's quota check asks for one token; its titles ask for JSON without tools. */
function isAuxiliary({ max_tokens = Infinity, tools = [], output_config }: MessagesRequest) {
  return max_tokens <= 1 || (tools.length === 0 && output_config?.format !== undefined);
}

function auxiliaryReply({ output_config }: MessagesRequest): Reply {
  const properties = Object.keys(output_config?.format?.schema?.properties ?? {});
  const text = properties.length === 0
    ? "OK"
    : JSON.stringify(Object.fromEntries(properties.map((name) => [name, `Scripted ${name}`])));
  return [{ kind: "text", text }];
}

function countTokens({ body }: LoggedRequest): Response {
  const question = messagesRequest(body);
  if (question === undefined) return notFound();
  const { input_tokens, cache_creation_input_tokens, cache_read_input_tokens } = replyUsage(
    question,
    0,
  );
  return Response.json({
    input_tokens: input_tokens + cache_creation_input_tokens + cache_read_input_tokens,
  });
}

function oauthResponse(answer: OauthAnswer, number: number): Response {
  switch (answer) {
    case "new-tokens":
      return Response.json({
        token_type: "Bearer",
        access_token: `sk-ant-oat01-refreshed-${number}`,
        refresh_token: `sk-ant-ort01-refreshed-${number}`,
        expires_in: 28_800,
        scope: "user:inference user:profile user:sessions:claude_code",
      });
    case "invalid-grant":
      return Response.json(
        { error: "invalid_grant", error_description: "Refresh token not found or invalid" },
        { status: 400 },
      );
    case "server-error":
      return Response.json({ error: "server_error" }, { status: 500 });
  }
}

function notFound(): Response {
  return Response.json({
    type: "error",
    error: { type: "not_found_error", message: "Not found" },
  }, { status: 404 });
}

interface ReplyContext {
  readonly question: MessagesRequest;
  /** Aborts when the API is stopped. */
  readonly signal: AbortSignal;
}

async function respond(
  reply: Reply,
  { question, signal, headers: further }: ReplyContext & {
    readonly headers: Readonly<Record<string, string>>;
  },
): Promise<Response> {
  const requestId = `req_01${crypto.randomUUID().replaceAll("-", "").slice(0, 22)}`;
  const headers = { ...further, "request-id": requestId };
  const streamed = question.stream === true;
  const firstContent = streamed ? reply.findIndex(isContent) : -1;
  const beforeFirstByte = firstContent < 0 ? reply : reply.slice(0, firstContent);
  for (const step of beforeFirstByte) {
    if (signal.aborted) break;
    switch (step.kind) {
      case "wait":
        await pause(step.milliseconds, signal);
        break;
      case "until":
        await waitForFile(step.path, signal);
        break;
      case "hang":
        await pause(Infinity, signal);
        break;
      case "reset":
        return new Response(emptyStream(), { headers: { ...headers, ...CUT_SHORT } });
      case "error": {
        const error = apiError(step, requestId);
        return Response.json(error.body, { status: error.status, headers: error.headers });
      }
      default:
    }
  }
  if (!streamed) return Response.json(assistantMessage(reply, question), { headers });
  const rest = reply.filter((step, index) => index >= beforeFirstByte.length || !isTimed(step));
  return new Response(eventStream(rest, { question, signal, requestId }), {
    headers: {
      ...headers,
      "content-type": "text/event-stream; charset=utf-8",
      ...(rest.some(({ kind }) => kind === "reset") ? CUT_SHORT : {}),
    },
  });
}

function isContent({ kind }: ReplyStep): boolean {
  return kind === "text" || kind === "thinking" || kind === "tool";
}

/** Whether a step takes effect at its place in the reply. Other steps describe the reply as a whole. */
function isTimed({ kind }: ReplyStep): boolean {
  return ["wait", "until", "hang", "reset", "error"].includes(kind);
}

function emptyStream(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() });
}

/** A length that no body reaches: the server cuts the connection at the end of the body. */
const CUT_SHORT = { "content-length": `${2 ** 40}` };

function eventStream(
  reply: Reply,
  { question, signal, requestId }: ReplyContext & { readonly requestId: string },
): ReadableStream<Uint8Array> {
  const parts = replyStream(reply, question);
  const encoder = new TextEncoder();
  const gone = new AbortController();
  const ended = AbortSignal.any([signal, gone.signal]);
  return new ReadableStream({
    async pull(controller) {
      for (let next = parts.next(); !next.done; next = parts.next()) {
        const part = next.value;
        switch (part.kind) {
          case "event":
            controller.enqueue(encoder.encode(eventText(part.event)));
            return;
          case "wait":
            await pause(part.milliseconds, ended);
            break;
          case "until":
            await waitForFile(part.path, ended);
            break;
          case "hang":
            await pause(Infinity, ended);
            break;
          case "reset":
            controller.close();
            return;
          case "error":
            controller.enqueue(encoder.encode(eventText(apiError(part, requestId).body)));
            controller.close();
            return;
        }
        if (ended.aborted) return;
      }
      controller.close();
    },
    cancel() {
      gone.abort();
    },
  });
}

function eventText(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Waits for a file, at most until the signal aborts. */
async function waitForFile(path: string, signal: AbortSignal): Promise<void> {
  const isThere = () => Deno.stat(path).then(() => true, () => false);
  while (!signal.aborted && !await isThere()) await pause(5, signal);
}

/** Waits, at most until the signal aborts. Leaves no timer behind. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) return Promise.resolve();
  const timer = milliseconds === Infinity ? undefined : setTimeout(finish, milliseconds);
  function finish() {
    clearTimeout(timer);
    signal.removeEventListener("abort", finish);
    resolve();
  }
  signal.addEventListener("abort", finish);
  return promise;
}
