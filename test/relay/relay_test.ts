import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { passOn } from "../../src/relay/pass_on.ts";
import { type RelayedRequest, startRelay } from "../../src/relay/relay.ts";
import { watched } from "../../src/relay/watched.ts";
import { halfAnswer } from "./half_answer.ts";

/** A relay in front of a server of the test's own, and what has been seen of the exchanges. */
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
  const watching = watched(pass, (request) => {
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

Deno.test("a request and its answer pass through a relay as they are, login and query included", async () => {
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

Deno.test("who does not know the relay's secret reaches nobody", async () => {
  let asked = 0;
  await using there = relayed(() => new Response(`${++asked}`));
  const { origin, pathname } = new URL(there.url);
  for (const path of ["/", "/v1/messages", `${pathname}x/v1/messages`, pathname]) {
    const answer = await fetch(`${origin}${path}`);
    assertEquals([answer.status, await answer.text()], [404, ""]);
  }
  assertEquals([asked, there.requests.length], [0, 0]);
});

Deno.test("each piece of an answer passes before the next one is there", async () => {
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

Deno.test("what an upstream compresses stays compressed, and nothing asks for it", async () => {
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

Deno.test("a redirection is followed for the asker, who does not know where the upstream is", async () => {
  await using there = relayed(async (request) => {
    const { pathname } = new URL(request.url);
    return pathname.endsWith("/x")
      ? new Response(null, { status: 307, headers: { location: "/y" } })
      : new Response(`${request.method} ${pathname} ${await request.text()}`);
  });
  const answer = await fetch(`${there.url}/x`, { method: "POST", body: "{}" });
  assertEquals([answer.status, await answer.text()], [200, "POST /y {}"]);
});

Deno.test("an upstream that is down is a connection that breaks off", async () => {
  await using there = relayed(() => new Response());
  // A port that was just given back may be another test's by now; this one nobody can have without being root.
  const upstream = new URL("http://127.0.0.1:2");
  const client = Deno.createHttpClient({});
  const told: string[] = [];
  const tell = (line: string) => void told.push(line);
  const watch = () => ({
    onHead: () => void assert(false, "nobody has answered"),
    onEnd: (end: { readonly whole: boolean }) => ends.push(end),
  });
  using relay = startRelay({ answer: watched(passOn({ upstream, client, tell }), watch) });
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

Deno.test("who gives up an answer ends it upstream too, and so does the end of the relay", async () => {
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
