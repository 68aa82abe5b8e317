import { assertEquals, assertStringIncludes } from "@std/assert";
import { serve } from "../../program/server/delegation/served.ts";
import { StandIn, until } from "../../program/stand_in.ts";
import { inShell } from "../../in_shell.ts";

const encoder = new TextEncoder();

/** Bytes that strangers send before they stop reading. */
const STRANGERS = [
  "",
  "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-",
  "POST /v1/run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000000\r\n\r\n{",
  "POST /v1/run HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
  "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2000),
];

const wrap = inShell('ulimit -n 256; exec "$@"');

Deno.test("open connections of strangers do not stop runs", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}" }]] });
  let stdout = "";
  await using server = await serve({
    args: ["--warm", "0", "--port", "0"],
    wrap,
    onStdout: (text) => stdout = text,
  });
  const port = Number(/^http:.*:(\d+) /mu.exec(stdout)?.[1]);
  using stack = new DisposableStack();
  const connect = async () => stack.use(await Deno.connect({ port }));
  const [, , halfBody = ""] = STRANGERS;
  const refused = await connect();
  await refused.write(encoder.encode(halfBody));
  assertStringIncludes(await new Response(refused.readable).text(), " 401 ");

  for (const text of STRANGERS) {
    for (let left = 100; left > 0; left--) {
      const connection = await connect();
      // The server may close it meanwhile.
      connection.write(encoder.encode(text)).catch(() => {});
    }
  }
  const isHandedOver = async () => {
    const options = { env: server.env, warns: true, wrap };
    const { code, stdout, stderr } = await claude.print(["hello", "--trace"], options);
    assertEquals([code, stdout], [0, "You said hello\n"]);
    return stderr.includes(`/${server.pid}-`);
  };
  // On a loaded machine a run may go past a server that does not answer at once.
  await until(isHandedOver, "the server takes runs");
  const folder = `${server.env.XDG_RUNTIME_DIR}/claude-print`;
  const token = (await Deno.readTextFile(`${folder}/token`)).trim();
  const ways = [
    { url: "http://localhost", proxy: { transport: "unix", path: `${folder}/http.sock` } },
    { url: `http://127.0.0.1:${port}` },
  ] as const;
  for (const { url, ...options } of ways) {
    using client = Deno.createHttpClient({ ...options });
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(`${url}/v1/conversations`, { client, headers });
    assertEquals(await answer.json(), { conversations: [] }, url);
  }
});
