import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type Call, createAuthorizer } from "../../../src/server/http/serve_http.ts";
import { BODY_LIMITS } from "../../../src/server/http/request_body.ts";
import { ROUTES } from "../../../src/server/http/routes.ts";
import { ProblemError } from "../../../src/server/problems.ts";
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

/** The problem with a body, in the words of the answer. */
async function problemWith(path: string, body: unknown): Promise<string> {
  const route = ROUTES.find((each) => each.method === "POST" && each.path.endsWith(path));
  assert(route !== undefined);
  const headers = { "content-type": "application/json" };
  const request = new Request(AT, { method: "POST", body: JSON.stringify(body), headers });
  const gone = new AbortController().signal;
  const context = { limits: BODY_LIMITS, registry: { get: () => ({}) } };
  const call = { context, request, url: new URL(AT), params: {}, gone } as unknown as Call;
  const error = await assertRejects(async () => await route.handle(call), ProblemError);
  const { status, detail, suggestion } = error.problem;
  assertEquals(status, 422);
  return `${detail.replace("Cannot read the body: ", "")}. ${suggestion}`;
}

const ANSWER = { request_id: "x", behavior: "deny" };

for (
  const [path, body, ...parts] of [
    ["run", {}, 'it has no "prompt".'],
    ["run", { prompt: 1 }, "prompt is not of type string."],
    ["run", { prompt: "x", args: "y" }, "args is not of type array."],
    ["run", { prompt: "x", args: [1] }, "args.0 is not of type string."],
    ["run", [], "it is not of type string or object."],
    ["run", { promt: "x" }, 'it takes no "promt". Did you mean "prompt"?'],
    ["run", { prompt: "x", maxTurns: 1 }, 'no "maxTurns". ', '"args": ["--max-turns", …]'],
    ["run", { prompt: "x", cwd: "/" }, 'it takes no "cwd". ', "?cwd="],
    ["conversations", [], "it is not of type object."],
    ["conversations", { profil: {} }, 'it takes no "profil". Did you mean "profile"?'],
    ["conversations", { model: "x" }, 'no "model". ', '"profile": {"args": ["--model", …]}'],
    ["conversations", { cwd: "/" }, 'it takes no "cwd". ', '"profile": {"cwd": …}'],
    ["conversations", { resume: "" }, "resume is too small."],
    ["conversations", { profile: { arg: [] } }, 'profile takes no "arg". Did you mean "args"?'],
    ["conversations", { profile: { args: "x" } }, "profile.args is not of type array."],
    ["conversations", { profile: { cwd: "x" } }, 'profile.cwd does not begin with "/".'],
    [
      "conversations",
      { profile: { env: { "A=B": "x" } } },
      "profile.env.A=B has a name that is not",
    ],
    ["conversations", { profile: { env: { "": "x" } } }, "profile.env. has a name that is not"],
    ["conversations", { profile: { env: { A: "\0" } } }, "profile.env.A is not as it should be."],
    ["messages", {}, 'it has no "content".'],
    ["messages", { contents: "x" }, 'it takes no "contents". Did you mean "content"?'],
    ["messages", { content: 1 }, "content is not of type string or array."],
    ["messages", { content: [{}] }, 'content.0 has no "type".'],
    ["messages", { content: "x", when: "now" }, 'when is none of "queue", "interrupt".'],
    ["messages", { content: "x", uuid: "y" }, "uuid is no UUID."],
    ["answers", {}, 'it has no "request_id".'],
    ["answers", { behavior: "allow" }, 'it has no "request_id".'],
    ["answers", { request_id: "x" }, 'it has no "behavior" or "answers".'],
    ["answers", { ...ANSWER, behavior: "yes" }, 'behavior is none of "allow", "deny".'],
    ["answers", { ...ANSWER, mesage: "x" }, 'it takes no "mesage". Did you mean "message"?'],
    ["answers", { ...ANSWER, updated_input: {} }, 'it takes no "updated_input". Leave it out.'],
    ["answers", { request_id: "x", answers: { a: 1 } }, "answers.a is not of type string."],
  ] as const
) {
  Deno.test(`a body of ${path} is refused: ${parts[0]}`, async () => {
    const problem = await problemWith(`/${path}`, body);
    assert(problem.includes(parts[0]) && problem.includes(parts[1] ?? ""), problem);
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
