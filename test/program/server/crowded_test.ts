import { assertEquals, assertMatch } from "@std/assert";
import { StandIn, until } from "../stand_in.ts";
import { serve } from "./delegation/served.ts";
import { socketClient } from "./http/socket_client.ts";
import { inShell } from "../../in_shell.ts";

/** Few enough to be used up at once, and enough for a run. */
const wrap = inShell('ulimit -n 128; exec "$@"');

/** More connections than there may be open files, as far as they can be had. */
async function crowd(path: string) {
  const connecting = Array.from({ length: 200 }, () => Deno.connect({ transport: "unix", path }));
  const connected = (await Promise.allSettled(connecting))
    .flatMap((each) => each.status === "fulfilled" ? [each.value] : []);
  return {
    /** Whether the first of them is cut by the other end. */
    get areCut(): Promise<boolean> {
      const read = connected[0]?.read(new Uint8Array(1));
      return read?.then((count) => count === null, () => true) ?? Promise.resolve(false);
    },
    [Symbol.dispose]: () => {
      for (const each of connected) each.close();
    },
  };
}

Deno.test("a crowded server recovers", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}, {turn}" }]] });
  await using server = await serve({ wrap });
  const folder = `${server.env.XDG_RUNTIME_DIR}/claude-print`;
  using client = socketClient(server.httpSocket, { poolMaxIdlePerHost: 0 });
  const isThere = () => client.ask("GET", "/healthz").then(({ body }) => body !== "", () => false);
  const answersRuns = async () => {
    const options = { env: server.env, warns: true, wrap };
    const { code, stdout, stderr } = await claude.print(["hello", "--trace"], options);
    assertEquals([code, stdout], [0, "You said hello, 1\n"]);
    return stderr.includes(`/${server.pid}-`);
  };
  for (const socket of ["run.sock", "http.sock"]) {
    {
      using _ = await crowd(`${folder}/${socket}`);
      await answersRuns();
    }
    await until(isThere, `HTTP is answered after a crowd at ${socket}`);
    await until(answersRuns, `runs are taken after a crowd at ${socket}`);
  }
});

Deno.test("running work survives a crowd of connections", async () => {
  const waits = { name: "Bash", input: { command: "until [ -e go ]; do sleep 0.05; done" } };
  await using claude = await StandIn.set({
    turns: [[{ text: "I wait.", tools: [waits] }, { text: "It is there." }]],
  });
  await using server = await serve({ env: claude.home.env, cwd: claude.home.project, wrap });
  using client = socketClient(server.httpSocket);
  const args = ["--claude-binary", claude.binary];
  const run = client.ask("POST", "/v1/run", { prompt: "hello", args });
  await claude.untilNoted("tool");
  {
    using held = await crowd(server.httpSocket);
    assertEquals(await held.areCut, true);
    await Deno.writeTextFile(`${claude.home.project}/go`, "");
    assertEquals((await run).body.result.result, "It is there.");
  }
  server.kill("SIGTERM");
  const { code, stderr } = await server.ended;
  assertEquals(code, 0);
  assertMatch(
    stderr,
    /^claude-print: Cannot take connections: Too many open files [^\n]*\n {2}Allow more /u,
  );
});

Deno.test("silent run connections are limited", async () => {
  await using server = await serve();
  using idle = await Deno.connect({ transport: "unix", path: server.httpSocket });
  const path = server.httpSocket.replace("http.sock", "run.sock");
  const held: Deno.UnixConn[] = [];
  for (let left = 1100; left > 0; left--) held.push(await connected(path));
  let cut = 0;
  for (const each of held) each.read(new Uint8Array(1)).then(() => cut++, () => {});
  await until(() => cut === 100, "those that are too many are cut");
  await idle.write(new TextEncoder().encode("GET /healthz HTTP/1.0\r\n\r\n"));
  assertMatch(await new Response(idle.readable).text(), /^HTTP\/1\.[01] 200 /u);
  for (const each of held) each.close();
  server.kill("SIGTERM");
  const { code, stderr } = await server.ended;
  assertEquals([code, stderr], [0, ""]);
});

/** A connection, as soon as there is room for it among those that wait to be taken. */
async function connected(path: string): Promise<Deno.UnixConn> {
  for (;;) {
    try {
      return await Deno.connect({ transport: "unix", path });
    } catch (error) {
      if ((error as { readonly code?: string }).code !== "EAGAIN") throw error;
      await new Promise((done) => setTimeout(done, 5));
    }
  }
}
