import { assertEquals } from "@std/assert";
import { StreamSource } from "../../src/driver/sources/stream_source.ts";

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

Deno.test("requests of the conversation itself are heard, and no others", () => {
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

Deno.test("a request for the summary of a compaction is none of the conversation", () => {
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

Deno.test("the first request tells what the model is offered, if it can be understood", () => {
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

Deno.test("what the API says of limits is heard for a subscription alone", () => {
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

Deno.test("the events of a stream are heard as they come, and what is none is left out", () => {
  const source = new StreamSource({ sessionId: ID });
  let arrivals = 0;
  source.onArrival = () => arrivals++;
  const watcher = source.watch(request());
  watcher?.onHead?.(STREAM);
  watcher?.onBytes?.(encoder.encode('event: ping\ndata: {"type":"ping"}\n\ndata: {"ty'));
  watcher?.onBytes?.(encoder.encode('pe":"x"}\n\ndata: no json\n\ndata: 1\n\ndata: {}\n\n'));
  watcher?.onEnd?.({ whole: true });
  assertEquals(source.take().map(({ part }) => part), [
    { kind: "request" },
    { kind: "event", event: { type: "ping" } },
    { kind: "event", event: { type: "x" } },
    { kind: "end" },
  ]);
  assertEquals(arrivals, 4);
});

Deno.test("an event of an answer that is no JSON is the last one", () => {
  const source = new StreamSource({ sessionId: ID });
  const watcher = source.watch(request());
  watcher?.onHead?.(STREAM);
  watcher?.onBytes?.(encoder.encode('event: odd\ndata: {\n\ndata: {"type":"x"}\n\n'));
  watcher?.onBytes?.(
    encoder.encode('event: content_block_delta\ndata: {\n\ndata: {"type":"y"}\n\n'),
  );
  watcher?.onBytes?.(encoder.encode('data: {"type":"z"}\n\n'));
  watcher?.onEnd?.({ whole: true });
  assertEquals(source.take().map(({ part }) => part), [
    { kind: "request" },
    { kind: "event", event: { type: "x" } },
    { kind: "end" },
  ]);
});

Deno.test("a stream is heard that the API compresses though it is asked not to, up to where it breaks off", async () => {
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

Deno.test("who wants no deltas hears neither those nor what is said of limits", () => {
  const source = new StreamSource({ sessionId: ID, whole: false });
  const watcher = source.watch(request({ "anthropic-beta": "oauth-2025-04-20" }));
  watcher?.onHead?.(STREAM);
  for (const type of ["message_start", "content_block_delta", "content_block_stop"]) {
    watcher?.onBytes?.(encoder.encode(`event: ${type}\ndata: {"type":"${type}"}\n\n`));
  }
  watcher?.onEnd?.({ whole: true });
  assertEquals(
    source.take().map(({ part }) => part.kind === "event" ? part.event["type"] : part.kind),
    ["request", "message_start", "content_block_stop", "end"],
  );
});

Deno.test("of an answer that is no stream only its end is heard", () => {
  for (const other of [head("application/json"), head("text/event-stream", 529)]) {
    const source = new StreamSource({ sessionId: ID });
    const watcher = source.watch(request());
    watcher?.onHead?.(other);
    watcher?.onBytes?.(encoder.encode('data: {"type":"x"}\n\n'));
    watcher?.onEnd?.({ whole: false });
    assertEquals(source.take().map(({ part }) => part.kind), ["request", "end"]);
  }
});
