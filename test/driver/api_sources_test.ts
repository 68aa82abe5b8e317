import { assertEquals } from "@std/assert";
import { makeFifo } from "../../ffi/descriptors/pipe.ts";
import { followLog, RetrySource } from "../../src/driver/inputs/debug_log.ts";
import { StreamSource } from "../../src/driver/inputs/stream_source.ts";

const ID = "11111111-1111-4111-8111-111111111111";
const encoder = new TextEncoder();

const request = (more: Readonly<Record<string, string>> = {}, path = "/v1/messages?beta=true") => ({
  method: "POST",
  path,
  headers: new Headers({ "x-claude-code-session-id": ID, ...more }),
  body: encoder.encode('{"stream":true}'),
});
const head = (type: string, status = 200) => ({
  status,
  headers: new Headers({ "content-type": type }),
});
const STREAM = head("text/event-stream; charset=utf-8");

Deno.test("StreamSource ignores requests of others than the conversation", () => {
  const source = new StreamSource({ sessionId: ID });
  for (
    const other of [
      request({ "x-claude-code-agent-id": "a" }),
      request({ "x-claude-code-request-class": "subagent" }),
      request({ "x-claude-code-session-id": "another" }),
      request({ "user-agent": "claude-cli/2.1.330 (external, sdk-cli)" }),
      request({}, "/v1/messages/count_tokens"),
      { ...request(), method: "GET" },
      { ...request(), body: encoder.encode('{"messages":[{"content":"\\"stream\\":true"}]}') },
    ]
  ) {
    assertEquals(source.watch(other), undefined);
  }
  source.watch(request());
  source.watch(request({ "x-claude-code-request-class": "main" }, "/base/v1/messages"));
  assertEquals(source.take(), [
    { request: 1, part: { kind: "request" } },
    { request: 2, part: { kind: "request" } },
  ]);
  assertEquals(source.take(), []);
});

Deno.test("StreamSource ignores the request for a compaction summary", () => {
  const source = new StreamSource({ sessionId: ID });
  const words = "Your task is to create a detailed summary of the conversation so far";
  const asking = (...contents: readonly unknown[]) => ({
    ...request(),
    body: encoder.encode(
      JSON.stringify({ messages: contents.map((content) => ({ content })), stream: true }),
    ),
  });
  assertEquals(source.watch(asking("hello", words)), undefined);
  assertEquals(source.watch(asking([{ type: "text", text: `Now: ${words}` }])), undefined);
  source.watch(asking(words, "hello"));
  source.watch(asking([{ type: "tool_result", content: words }]));
  source.watch({ ...request(), body: encoder.encode(`"stream":true${words}`) });
  assertEquals(source.take().map((heard) => heard.request), [1, 2, 3]);
});

Deno.test("StreamSource reports the tools of the first request", () => {
  const offered = (body: object | string | null, headers = {}) => {
    const source = new StreamSource({ sessionId: ID });
    const text = typeof body === "string" ? body : JSON.stringify({ ...body, stream: true });
    source.watch({ ...request(headers), body: encoder.encode(text) });
    const next = { tools: [{ name: "Later" }], stream: true };
    source.watch({ ...request(), body: encoder.encode(JSON.stringify(next)) });
    const [first, later] = source.take().map(({ part }) => part);
    assertEquals(later, { kind: "request" });
    return first?.kind === "request" ? first.offer : undefined;
  };
  const tools = [{ name: "Bash" }, { name: "mcp__a__b", defer_loading: true }];
  assertEquals(offered({ tools }), { tools: ["Bash", "mcp__a__b"], fast: false });
  assertEquals(offered({ tools }, { "anthropic-beta": "a,fast-mode-2026-02-01" })?.fast, true);
  assertEquals(offered({ tools: [5, null, {}, { name: 5 }] })?.tools, []);
  for (const odd of [{}, { tools: 5 }, null, '"stream":true', '["stream":true']) {
    assertEquals(offered(odd), undefined);
  }
});

Deno.test("StreamSource reports limits for subscriptions only", () => {
  const limitsFor = (betas: string, status: number) => {
    const source = new StreamSource({ sessionId: ID });
    const { headers } = head("text/event-stream");
    headers.set("anthropic-ratelimit-unified-5h-reset", "5");
    headers.set("anthropic-ratelimit-tokens-reset", "6");
    source.watch(request({ "anthropic-beta": betas }))?.onHead?.({ status, headers });
    return source.take().slice(1).map(({ part }) =>
      part.kind === "limits" ? part.limits?.headers : part
    );
  };
  assertEquals(limitsFor("a,oauth-2025-04-20", 200), [{ "5h-reset": "5" }]);
  assertEquals(limitsFor("oauth-2025-04-20", 429), [undefined]);
  assertEquals(limitsFor("oauth-2025-04-20", 529), []);
  assertEquals(limitsFor("a", 200), []);
});

/** The parts that a source reports of a response with these bytes. */
function partsOf(
  texts: readonly string[],
  { whole = true, response = STREAM, betas = "" } = {},
): readonly unknown[] {
  const source = new StreamSource({ sessionId: ID, whole });
  let arrivals = 0;
  source.onArrival = () => arrivals++;
  const watcher = source.watch(request({ "anthropic-beta": betas }));
  watcher?.onHead?.(response);
  for (const text of texts) watcher?.onBytes?.(encoder.encode(text));
  watcher?.onEnd?.({ whole: true });
  const parts = source.take().map(({ part }) => part.kind === "event" ? part.event : part.kind);
  assertEquals(arrivals, parts.length);
  return parts;
}

Deno.test("StreamSource reports valid events until content is not JSON", () => {
  assertEquals(
    partsOf([
      'event: ping\ndata: {"type":"ping"}\n\ndata: {"ty',
      'pe":"x"}\n\ndata: no json\n\ndata: 1\n\ndata: {}\n\n',
    ]),
    ["request", { type: "ping" }, { type: "x" }, "end"],
  );
  assertEquals(
    partsOf([
      'event: odd\ndata: {\n\ndata: {"type":"x"}\n\n',
      'event: content_block_delta\ndata: {\n\ndata: {"type":"y"}\n\n',
      'data: {"type":"z"}\n\n',
    ]),
    ["request", { type: "x" }, "end"],
  );
});

Deno.test("StreamSource without deltas reports neither deltas nor limits", () => {
  const types = ["message_start", "content_block_delta", "content_block_stop"];
  const texts = types.map((type) => `event: ${type}\ndata: {"type":"${type}"}\n\n`);
  assertEquals(partsOf(texts, { whole: false, betas: "oauth-2025-04-20" }), [
    "request",
    { type: "message_start" },
    { type: "content_block_stop" },
    "end",
  ]);
});

Deno.test("StreamSource reports only the end of other responses", () => {
  for (const response of [head("application/json"), head("text/event-stream", 529)]) {
    assertEquals(partsOf(['data: {"type":"x"}\n\n'], { response }), ["request", "end"]);
  }
});

Deno.test("StreamSource reads compressed streams until they break off", async () => {
  const text = 'data: {"type":"x"}\n\n'.repeat(3);
  for (const [encoding, format] of [["gzip", "gzip"], ["br", "brotli"]] as const) {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream(format));
    const packed = new Uint8Array(await new Response(stream).arrayBuffer());
    for (const [bytes, events] of [[packed, 3], [encoder.encode(text), 0]] as const) {
      const source = new StreamSource({ sessionId: ID });
      const ended = Promise.withResolvers<void>();
      const heard: string[] = [];
      source.onArrival = () => {
        heard.push(...source.take().map(({ part }) => part.kind));
        if (heard.includes("end")) ended.resolve();
      };
      const watcher = source.watch(request());
      watcher?.onHead?.({
        status: 200,
        headers: new Headers({ "content-type": "text/event-stream", "content-encoding": encoding }),
      });
      for (const byte of bytes) watcher?.onBytes?.(Uint8Array.of(byte));
      watcher?.onEnd?.({ whole: true });
      await ended.promise;
      assertEquals(heard, ["request", ...Array(events).fill("event"), "end"]);
    }
  }
});

const ERROR_500 = 'API error (attempt 1/11): 500 500 {"type":"error","error":{"type":"api_error"}}';

/** A debug log and a screen. */
class Ground implements Disposable {
  readonly #dir = Deno.makeTempDirSync();
  readonly logPath = `${this.#dir}/debug.log`;
  /** Rows of the screen. */
  rows: readonly string[] = [];
  looks = 0;

  source(): RetrySource {
    return new RetrySource(followLog(this.logPath));
  }

  log(level: string, text: string): void {
    const line = `2026-11-22T01:48:04.860Z [${level}] ${text}\n`;
    Deno.writeTextFileSync(this.logPath, line, { append: true });
  }

  read(source: RetrySource, at: number) {
    const look = () => {
      this.looks++;
      return Promise.resolve({ lines: this.rows, cursor: { row: 1, col: 1 } });
    };
    source.faults(at);
    return source.findRetry({ at, look });
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.#dir, { recursive: true });
  }
}

Deno.test("RetrySource joins log and screen to one retry", async () => {
  using ground = new Ground();
  const source = ground.source();
  assertEquals(await ground.read(source, 0), undefined);
  ground.log("ERROR", ERROR_500);
  assertEquals(await ground.read(source, 50), undefined, "the screen does not say it yet");
  ground.rows = ["❯ hello", "✻ API error · Retrying in 1s · attempt 1/10", ""];
  assertEquals(await ground.read(source, 100), {
    attempt: 1,
    maxRetries: 10,
    delayMs: 1000,
    status: 500,
  });
  const { looks } = ground;
  assertEquals(await ground.read(source, 150), undefined);
  assertEquals(ground.looks, looks, "nothing to look for");
});

Deno.test("RetrySource reports failed requests of the log", () => {
  using ground = new Ground();
  const source = ground.source();
  assertEquals(source.faults(0), []);
  ground.log("ERROR", ERROR_500);
  ground.log("ERROR", "API error (attempt 2/11): undefined Connection error.");
  ground.log("WARN", "Stream connection error (ECONNRESET) — retrying streaming (1/3)");
  assertEquals(source.faults(1), [
    { attempt: 1, maxRetries: 10, status: 500 },
    { attempt: 2, maxRetries: 10, status: null },
    { attempt: 1, maxRetries: 3, status: null },
  ]);
  assertEquals(source.faults(2), []);
});

Deno.test("RetrySource waits for the screen to show the next retry", async () => {
  using ground = new Ground();
  const source = ground.source();
  ground.rows = ["✻ API error · retrying… · attempt 1/10"];
  ground.log("ERROR", "API error (attempt 2/11): 529 529 overloaded_error");
  assertEquals(await ground.read(source, 0), undefined);
  ground.rows = ["✻ API error · retrying in 0s · attempt 1/10"];
  assertEquals(await ground.read(source, 50), undefined);
  ground.rows = ["✻ 529 Overloaded · retrying in 1m 30s · attempt 2/10"];
  assertEquals(await ground.read(source, 100), {
    attempt: 2,
    maxRetries: 10,
    delayMs: 90_000,
    status: 529,
  });
});

Deno.test("RetrySource reads a wrapped notice and a lost connection", async () => {
  using ground = new Ground();
  const source = ground.source();
  ground.log("ERROR", "API error (attempt 1/4): undefined Connection error.");
  ground.rows = ["✻ Connection refused · retrying in 1s · attempt", "1/3"];
  const expected = { attempt: 1, maxRetries: 3, delayMs: 1000, status: null };
  assertEquals(await ground.read(source, 0), expected);
  ground.log("WARN", "Stream connection error (ECONNRESET) — retrying streaming (1/3)");
  assertEquals(await ground.read(source, 50), expected);
});

Deno.test("RetrySource gives up when no retry follows", async () => {
  using ground = new Ground();
  const source = ground.source();
  ground.log("ERROR", 'API error (attempt 1/11): 400 400 {"type":"error"}');
  ground.rows = ["● API Error: 400 Bad prompt"];
  for (let at = 0; at <= 3000; at += 50) assertEquals(await ground.read(source, at), undefined);
  const { looks } = ground;
  await ground.read(source, 3050);
  assertEquals(ground.looks, looks);
});

Deno.test("RetrySource ignores earlier lines, a missing log and a FIFO", async () => {
  using ground = new Ground();
  ground.rows = ["✻ API error · Retrying in 1s · attempt 1/10"];
  assertEquals(await ground.read(ground.source(), 0), undefined);
  ground.log("ERROR", ERROR_500);
  assertEquals(await ground.read(ground.source(), 0), undefined);
  Deno.removeSync(ground.logPath);
  makeFifo(ground.logPath);
  assertEquals(await ground.read(ground.source(), 0), undefined);
});

Deno.test("RetrySource does not look at the screen without a failure", async () => {
  using ground = new Ground();
  const source = ground.source();
  ground.rows = ["● The log says: Retrying in 1s · attempt 1/10"];
  ground.log("DEBUG", "[API REQUEST] /v1/messages source=repl_main_thread");
  ground.log("ERROR", "OAuth refresh failed (expected): connect ECONNREFUSED");
  ground.log("WARN", "Stream connection error ".repeat(1000));
  assertEquals(await ground.read(source, 0), undefined);
  assertEquals(ground.looks, 0);
});
