import { assertEquals, assertMatch } from "@std/assert";
import { FileReserve } from "../../../src/serve/http/file_reserve.ts";
import { listenForHttp, type ListeningOptions } from "../../../src/serve/http/listen_for_http.ts";

const GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const HALF_BODY = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx";

/** A server on TCP, of which a request with the header `known` is the user's. */
function listen(handler: ListeningOptions["handler"]) {
  const reserve = new FileReserve({ runs: () => 0 });
  const mistakes: unknown[] = [];
  const server = listenForHttp({
    at: { hostname: "127.0.0.1", port: 0 },
    handler,
    isKnown: ({ headers }) => headers.has("known"),
    reserve,
    onMistake: (error) => mistakes.push(error),
  });
  return {
    server,
    connect: () => Deno.connect({ port: server.port ?? 0 }),
    [Symbol.dispose]: () => {
      server.cut();
      reserve[Symbol.dispose]();
      assertEquals(mistakes, []);
    },
  };
}

const send = (conn: Deno.Conn, text: string) => conn.write(new TextEncoder().encode(text));

const known = (text: string) => text.replace("\r\n", "\r\nknown: 1\r\n");

/** Reads until an answer to a request is complete. */
async function answerOn(conn: Deno.Conn): Promise<string> {
  const bytes = new Uint8Array(4096);
  let text = "";
  while (!text.endsWith("0\r\n\r\n")) {
    const count = await conn.read(bytes);
    if (count === null) throw new Error(`The connection was closed after ${JSON.stringify(text)}`);
    text += new TextDecoder().decode(bytes.subarray(0, count));
  }
  return text;
}

Deno.test("a connection of the user's takes one request after the other", async () => {
  using there = listen(async (request) => new Response(await request.text()));
  using conn = await there.connect();
  for (const body of ["one", "two"]) {
    await send(conn, known(HALF_BODY.replace("100", "3").replace(/x$/u, body)));
    assertMatch(await answerOn(conn), new RegExp(`^HTTP/1.1 200 [^]*\r\n${body}\r\n`, "u"));
  }
});

Deno.test("an answer ahead of the body closes the connection", async () => {
  using there = listen(() => Promise.resolve(new Response("no", { status: 413 })));
  using conn = await there.connect();
  await send(conn, known(HALF_BODY));
  assertMatch(await new Response(conn.readable).text(), /^HTTP\/1.1 413 /u);
});

Deno.test("a stranger's connection is closed after its first answer", async () => {
  let asked = 0;
  using there = listen(() => Promise.resolve(new Response(`${++asked}`)));
  using conn = await there.connect();
  await send(conn, GET.repeat(10));
  assertMatch(await new Response(conn.readable).text(), /^HTTP\/1.1 200 [^]*\r\n1\r\n0\r\n\r\n$/u);
  assertEquals(asked, 1);
});

Deno.test("a server that closes ends idle connections and answers the rest", async () => {
  const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  using there = listen(async () => {
    asked.resolve();
    await answer.promise;
    return new Response("late");
  });
  using idle = await there.connect();
  using conn = await there.connect();
  await send(conn, known(GET));
  await asked.promise;
  const closed = there.server.close();
  assertEquals(await idle.read(new Uint8Array(1)), null);
  answer.resolve();
  assertMatch(await new Response(conn.readable).text(), /\r\nlate\r\n/u);
  await closed;
});
