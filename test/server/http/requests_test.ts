import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createAuthorizer } from "../../../src/server/http/serve_http.ts";
import { unknownKeyError } from "../../../src/server/http/request_body.ts";
import {
  FileReserve,
  HttpServer,
  type ListeningOptions,
} from "../../../src/server/http/http_server.ts";

const TOKEN = "0123456789abcdef";
const AT = "http://127.0.0.1:80";

const basic = (words: string) => ({ authorization: `Basic ${btoa(words)}` });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** What becomes of a request: 200 where nothing is refused. */
function status(
  { url = AT, hostname = "127.0.0.1", isOpen = false, method = "GET", ...headers }: Readonly<
    Record<string, unknown>
  >,
): number {
  const refuse = createAuthorizer({ token: TOKEN, hostname: `${hostname}` });
  const request = new Request(`${url}/`, {
    method: `${method}`,
    headers: headers as Record<string, string>,
  });
  return refuse(request, { isPublic: isOpen === true })?.status ?? 200;
}

Deno.test("TCP needs the token and refuses web pages", () => {
  const good = bearer(TOKEN);
  const rows: readonly (readonly [number, Readonly<Record<string, unknown>>])[] = [
    [200, good],
    [200, { authorization: `bearer  ${TOKEN}` }],
    [200, basic(`anybody:${TOKEN}`)],
    [401, {}],
    [401, bearer("")],
    [401, bearer(TOKEN.slice(1))],
    [401, bearer(`${TOKEN}0`)],
    [401, bearer(TOKEN.replace("0", "1"))],
    [401, basic(TOKEN.slice(0, -1))],
    [401, { authorization: "Basic %%%" }],
    [401, { authorization: TOKEN }],
    [200, { isOpen: true }],
    // By another name a page of the web could reach this machine.
    [403, { ...good, url: "http://rebound.example:80" }],
    [403, { isOpen: true, url: "http://rebound.example:80" }],
    [200, { ...good, url: "http://localhost:80" }],
    [200, { ...good, url: "http://192.0.2.1:80", hostname: "0.0.0.0" }],
    [403, { ...good, origin: "http://evil.example" }],
    [403, { ...good, origin: "null" }],
    [403, { ...good, origin: "http://127.0.0.1:81" }],
    [200, { ...good, origin: "http://127.0.0.1" }],
    [403, { ...good, "sec-fetch-site": "cross-site" }],
    [403, {
      ...good,
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      method: "POST",
    }],
    [200, { ...good, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }],
    [200, { ...good, "sec-fetch-site": "same-origin" }],
  ];
  for (const [expected, asked] of rows) {
    assertEquals(status(asked), expected, JSON.stringify(asked));
  }
});

const RUN = ["prompt", "args", "id"];

for (
  const [key, known, remedy] of [
    ["promt", RUN, 'Did you mean "prompt"?'],
    ["maxTurns", RUN, '"args": ["--max-turns", …]'],
    ["model", ["profile", "resume"], '"profile": {"args": ["--model", …]}'],
    ["cwd", RUN, "?cwd="],
    ["any", [], "Leave it out."],
  ] as const
) {
  Deno.test(`an unknown key "${key}" is named with its remedy`, () => {
    const { problem } = unknownKeyError([key], { place: "it", known });
    assertEquals(problem.detail, `Cannot read the body: it takes no "${key}"`);
    assertStringIncludes(problem.suggestion ?? "", remedy);
  });
}

const GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
const HALF_BODY = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx";

/** A server on TCP, of which a request with the header `known` is the user's. */
function listen(handler: ListeningOptions["handler"]) {
  const reserve = new FileReserve({ runs: () => 0 });
  const mistakes: unknown[] = [];
  const server = new HttpServer({
    at: { hostname: "127.0.0.1", port: 0 },
    handler,
    isAuthenticated: ({ headers }) => headers.has("known"),
    reserve,
    onInternalError: (error) => mistakes.push(error),
  });
  return {
    server,
    connect: () => Deno.connect({ port: server.port ?? 0 }),
    [Symbol.dispose]: () => {
      server.abort();
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

Deno.test("a known connection takes several requests", async () => {
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

Deno.test("a closing server answers running requests", async () => {
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
