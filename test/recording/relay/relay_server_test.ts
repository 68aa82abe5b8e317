import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { passOn, proxyFor, upstreamClient } from "../../../src/recording/relay/pass_on.ts";
import {
  type RelayedRequest,
  RequestBodies,
  startRelay,
  watchAnswers,
} from "../../../src/recording/relay/relay_server.ts";
import { halfAnswer } from "./open_cassette.ts";
import { startHttpsProxy } from "../../../fixtures/api/https_proxy.ts";

/** A relay in front of a fake upstream, and what a watcher has seen. */
function relayed(answer: (request: Request) => Response | Promise<Response>, base = "") {
  const stack = new AsyncDisposableStack();
  const upstream = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  stack.defer(() => upstream.shutdown());
  const client = stack.adopt(Deno.createHttpClient({}), (client) => client.close());
  const requests: RelayedRequest[] = [];
  const seen: string[] = [];
  const pass = passOn({
    upstream: new URL(`http://127.0.0.1:${upstream.addr.port}${base}`),
    client,
  });
  const watching = watchAnswers(pass, (request) => {
    requests.push(request);
    return {
      onHead: ({ status }) => seen.push(`head ${status}`),
      onBytes: (bytes) => seen.push(new TextDecoder().decode(bytes)),
      onEnd: ({ whole }) => seen.push(whole ? "whole" : "broken"),
    };
  });
  const relay = stack.use(startRelay({ answer: watching }));
  return {
    url: relay.url,
    requests,
    seen,
    relay,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

Deno.test("a request and its answer pass unchanged", async () => {
  const got: unknown[] = [];
  const names = [
    "authorization",
    "x-api-key",
    "user-agent",
    "content-length",
    "x-of-the-connection",
  ];
  await using there = relayed(async (request) => {
    const { pathname, search } = new URL(request.url);
    got.push(pathname, search, ...names.map((name) => request.headers.get(name)));
    got.push(await request.text());
    return new Response('{"error":"busy"}', { status: 529, headers: { "retry-after": "7" } });
  }, "/base/");
  const answer = await fetch(`${there.url}/v1/messages?beta=true`, {
    method: "POST",
    headers: {
      "authorization": "Bearer secret",
      "x-api-key": "key",
      "user-agent": "claude-cli/9",
      "connection": "keep-alive, x-of-the-connection",
      "x-of-the-connection": "1",
    },
    body: "{}",
  });
  assertEquals([answer.status, answer.headers.get("retry-after")], [529, "7"]);
  assertEquals(await answer.text(), '{"error":"busy"}');
  assertEquals(got, [
    ...["/base/v1/messages", "?beta=true"],
    ...["Bearer secret", "key", "claude-cli/9", "2", null],
    "{}",
  ]);
  assertEquals(there.requests[0]?.path, "/v1/messages?beta=true");
  assertEquals(there.seen, ["head 529", '{"error":"busy"}', "whole"]);
});

/** Sends a request byte for byte on a connection of its own. */
async function rawRequest(url: string, text: string) {
  const { hostname, port } = new URL(url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(text));
  return {
    /** Returns the response once the connection closes, or once it contains a text. */
    answer: async (end?: string) => {
      let answer = "";
      for await (const piece of connection.readable.pipeThrough(new TextDecoderStream())) {
        answer += piece;
        if (end !== undefined && answer.includes(end)) break;
      }
      return answer;
    },
  };
}

/** Announces a body of 1000 bytes and sends only some of them. */
const unfinished = (url: string, sent: string) =>
  rawRequest(
    url,
    `POST ${new URL(url).pathname}/v1/messages HTTP/1.1\r\nHost: localhost\r\n` +
      `Content-Length: 1000\r\n\r\n${sent}`,
  );

Deno.test("a request without the secret path gets 404", async () => {
  let asked = 0;
  await using there = relayed(() => new Response(`${++asked}`));
  const { origin, pathname } = new URL(there.url);
  for (const path of ["/", "/v1/messages", `${pathname}x/v1/messages`, pathname]) {
    const answer = await fetch(`${origin}${path}`);
    assertEquals(answer.status, 404);
    assertStringIncludes(await answer.text(), "the secret in the relay's URL is missing");
  }
  assertEquals([asked, there.requests.length], [0, 0]);
});

Deno.test("a stranger cannot keep a connection with an unfinished body", async () => {
  await using there = relayed(() => new Response());
  const stranger = await unfinished(new URL(there.url).origin, "{");
  assertStringIncludes(await stranger.answer(), " 404 ");
});

Deno.test("without a secret no page of the web is answered", async () => {
  using relay = startRelay({ answer: () => Promise.resolve(new Response("ok")), hasSecret: false });
  const { pathname } = new URL(relay.url);
  assertEquals([pathname, await (await fetch(`${relay.url}/v1/models`)).text()], ["/", "ok"]);
  for (const origin of ["https://example.com", "null"]) {
    const answer = await fetch(`${relay.url}/v1/models`, { headers: { origin } });
    assertStringIncludes(await answer.text(), "Cannot answer a page of the web");
    assertEquals(answer.status, 403);
  }
  const rebound = await rawRequest(
    relay.url,
    "GET /v1/models HTTP/1.1\r\nHost: rebound.example.com\r\nConnection: close\r\n\r\n",
  );
  assertStringIncludes(await rebound.answer(), " 403 ");
});

Deno.test("request bodies have a limit, singly and together", async () => {
  const reading = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const bodies = new RequestBodies({ bytes: 1500, bytesOfAll: 1200, idleMs: 60_000 });
  using relay = startRelay({
    bodies,
    answer: async ({ body }) => {
      if (body.length === 700) {
        reading.resolve();
        await finish.promise;
      }
      return new Response(`${body.length}`);
    },
  });
  const post = async (size: number) => {
    const answer = await fetch(`${relay.url}/x`, { method: "POST", body: "x".repeat(size) });
    return [answer.status, (await answer.text()).replace(/.*message":"(.*)"\}\}/u, "$1")];
  };
  /** A body counts until its response is sent, which the relay may learn after the client. */
  const postOnceFree = async (size: number) => {
    for (;;) {
      const answer = await post(size);
      if (answer[0] !== 503) return answer;
    }
  };
  const large = "Cannot read the body of the request: it is larger than";
  const full = "Cannot read the body of the request: other requests take the";
  const [status, message] = await post(2000);
  assertEquals([status, `${message}`.startsWith(large)], [413, true]);
  assertEquals(await post(1000), [200, "1000"]);
  const held = postOnceFree(700);
  await reading.promise;
  const [tooMany, why] = await post(700);
  assertEquals([tooMany, `${why}`.startsWith(full)], [503, true]);
  assertEquals(await postOnceFree(400), [200, "400"]);
  finish.resolve();
  assertEquals(await held, [200, "700"]);
  assertEquals(await postOnceFree(700), [200, "700"]);
});

Deno.test("a stalled body is refused and its memory freed", async () => {
  const bodies = new RequestBodies({ bytes: 1000, bytesOfAll: 1000, idleMs: 50 });
  using relay = startRelay({ bodies, answer: () => Promise.resolve(new Response("ok")) });
  for (let round = 0; round < 3; round++) {
    const slow = await unfinished(relay.url, "x".repeat(900));
    const answer = await slow.answer("}}");
    assertStringIncludes(answer, " 408 ");
    assertStringIncludes(answer, "none of it has arrived for 0.05 s");
  }
  const complete = await fetch(relay.url + "/x", { method: "POST", body: "x".repeat(900) });
  assertEquals(await complete.text(), "ok");
});

Deno.test("each piece of an answer passes at once", async () => {
  const next = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  await using there = relayed(() =>
    new Response(
      new ReadableStream({
        async start(controller) {
          for (const [index, { promise }] of next.entries()) {
            controller.enqueue(new TextEncoder().encode(`piece ${index}`));
            await promise;
          }
          controller.close();
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    )
  );
  const { body } = await fetch(`${there.url}/v1/messages`, { method: "POST", body: "{}" });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  for (const [index, { resolve }] of next.entries()) {
    assertEquals((await reader?.read())?.value, `piece ${index}`);
    resolve();
  }
  assertEquals((await reader?.read())?.done, true);
  assertEquals(there.seen, ["head 200", "piece 0", "piece 1", "whole"]);
});

Deno.test("a compressed answer stays compressed", async () => {
  let accepted: string | null = "";
  const packed = new Uint8Array(
    await new Response(new Blob(["hello"]).stream().pipeThrough(new CompressionStream("gzip")))
      .arrayBuffer(),
  );
  await using there = relayed(({ headers }) => {
    accepted = headers.get("accept-encoding");
    return new Response(packed, { headers: { "content-encoding": "gzip" } });
  });
  const answer = await fetch(there.url + "/x", { headers: { "accept-encoding": "gzip" } });
  assertEquals([accepted, await answer.text()], ["identity", "hello"]);
  assertEquals(answer.headers.get("content-encoding"), "gzip");
});

Deno.test("the relay follows redirections", async () => {
  await using there = relayed(async (request) => {
    const { pathname } = new URL(request.url);
    return pathname.endsWith("/x")
      ? new Response(null, { status: 307, headers: { location: "/y" } })
      : new Response(`${request.method} ${pathname} ${await request.text()}`);
  });
  const answer = await fetch(`${there.url}/x`, { method: "POST", body: "{}" });
  assertEquals([answer.status, await answer.text()], [200, "POST /y {}"]);
});

Deno.test("an unreachable upstream breaks the connection off", async () => {
  await using there = relayed(() => new Response());
  // Another test may use a free port by now, so the port is one that only root can open.
  const upstream = new URL("http://127.0.0.1:2");
  const client = Deno.createHttpClient({});
  const told: string[] = [];
  const tell = (line: string) => void told.push(line);
  const watch = () => ({
    onHead: () => void assert(false, "nobody has answered"),
    onEnd: (end: { readonly whole: boolean }) => ends.push(end),
  });
  using relay = startRelay({ answer: watchAnswers(passOn({ upstream, client, tell }), watch) });
  const ends: { readonly whole: boolean }[] = [];
  await assertRejects(async () => await (await fetch(`${relay.url}/x?secret`)).text(), TypeError);
  assertEquals(ends, [{ whole: false }]);
  assertEquals(told.length, 1);
  assertMatch(told.join(), /^Cannot reach http:\/\/127\.0\.0\.1:2: .*refused/u);
  assert(!told.join().includes("secret"));
  client.close();
  assert(there.url !== relay.url);
});

Deno.test("an answer that breaks off breaks off", async () => {
  await using there = relayed(halfAnswer);
  const answer = await fetch(`${there.url}/x`);
  await assertRejects(() => answer.text(), TypeError);
  assertEquals(there.seen.slice(-1), ["broken"]);
});

Deno.test("an abandoned answer ends upstream too", async () => {
  for (const how of ["client", "relay"] as const) {
    const ended = Promise.withResolvers<void>();
    await using there = relayed(() =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode("first")),
          cancel: () => ended.resolve(),
        }),
      )
    );
    const { body } = await fetch(`${there.url}/x`);
    const reader = body?.getReader();
    await reader?.read();
    if (how === "client") {
      await reader?.cancel();
    } else {
      there.relay[Symbol.dispose]();
      await assertRejects(async () => await reader?.read(), TypeError);
    }
    await ended.promise;
    assertEquals(there.seen, ["head 200", "first", "broken"]);
  }
});

Deno.test("proxy variables count as for Claude Code", () => {
  const api = new URL("https://api.example.com/x");
  const P = "http://proxy:1";
  const rows = [
    [{}, undefined],
    [{ HTTPS_PROXY: P }, P],
    [{ HTTP_PROXY: P }, P],
    [{ HTTPS_PROXY: "http://other:1", https_proxy: P }, P],
    [{ HTTPS_PROXY: "" }, undefined],
    [{ HTTPS_PROXY: P, NO_PROXY: "*" }, undefined],
    [{ HTTPS_PROXY: P, NO_PROXY: "a.b, api.example.com" }, undefined],
    [{ HTTPS_PROXY: P, NO_PROXY: ".example.com" }, undefined],
    [{ HTTPS_PROXY: P, NO_PROXY: "EXAMPLE.com:443" }, undefined],
    [{ HTTPS_PROXY: P, NO_PROXY: "example.com:8443" }, P],
    [{ HTTPS_PROXY: P, NO_PROXY: "ample.com" }, P],
    [{ HTTPS_PROXY: P, NO_PROXY: "*", no_proxy: "localhost" }, P],
  ] as const;
  for (const [env, proxy] of rows) assertEquals(proxyFor(api, env), proxy, JSON.stringify(env));
});

Deno.test("the proxy is used and the certificate verified", async () => {
  const hosts = ["api.example"];
  await using proxy = startHttpsProxy({ hosts, answer: () => new Response("there") });
  const upstream = new URL("https://api.example");
  const env = { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: "/ca.pem" };
  const read = (path: string) => path === "/ca.pem" ? proxy.certificate : undefined;
  using known = upstreamClient(upstream, { env, read });
  assertEquals(await (await fetch(upstream, { client: known })).text(), "there");
  using unknown = upstreamClient(upstream, { env, read: () => undefined });
  await assertRejects(() => fetch(upstream, { client: unknown }), TypeError);
  assertEquals(proxy.tunnels, ["api.example:443", "api.example:443"]);
});

Deno.test("a proxy receives the login of its address", async () => {
  const heads: (string | null)[] = [];
  await using proxy = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    ({ headers }) => {
      heads.push(headers.get("proxy-authorization"));
      return new Response("there");
    },
  );
  const env = { HTTP_PROXY: `http://me:p%40ss@127.0.0.1:${proxy.addr.port}` };
  const upstream = new URL("http://api.example");
  using client = upstreamClient(upstream, { env, read: () => undefined });
  assertEquals(await (await fetch(upstream, { client })).text(), "there");
  assertEquals(heads, [`Basic ${btoa("me:p@ss")}`]);
});
