import { assertEquals, assertMatch } from "@std/assert";
import { StandIn, until } from "../stand_in.ts";
import { serve } from "./runs/served.ts";

/** Few enough to be used up at once, and enough for a run. */
const FEW_FILES = ["sh", "-c", 'ulimit -n 128; exec "$@"', "sh"];

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
  await using server = await serve({ wrap: (command) => [...FEW_FILES, ...command] });
  const folder = `${server.env.XDG_RUNTIME_DIR}/claude-print`;
  using client = Deno.createHttpClient({
    proxy: { transport: "unix", path: `${folder}/http.sock` },
    poolMaxIdlePerHost: 0,
  });
  const isThere = async () => {
    try {
      const answer = await fetch("http://localhost/healthz", { client });
      return (await answer.text()) !== "";
    } catch {
      return false;
    }
  };
  const answersRuns = async () => {
    const { code, stdout, stderr } = await claude.print(["hello", "--trace"], {
      env: server.env,
      warns: true,
      wrap: (command) => [...FEW_FILES, ...command],
    });
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
  await using server = await serve({
    env: claude.home.env,
    cwd: claude.home.project,
    wrap: (command) => [...FEW_FILES, ...command],
  });
  const path = `${server.env.XDG_RUNTIME_DIR}/claude-print/http.sock`;
  using client = Deno.createHttpClient({ proxy: { transport: "unix", path } });
  const run = fetch("http://localhost/v1/run", {
    client,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ prompt: "hello", args: ["--claude-binary", claude.binary] }),
  });
  await claude.untilNoted("tool");
  {
    using held = await crowd(path);
    assertEquals(await held.areCut, true);
    await Deno.writeTextFile(`${claude.home.project}/go`, "");
    assertEquals((await (await run).json()).result.result, "It is there.");
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
  const folder = `${server.env.XDG_RUNTIME_DIR}/claude-print`;
  using idle = await Deno.connect({ transport: "unix", path: `${folder}/http.sock` });
  const path = `${folder}/run.sock`;
  const held: Deno.UnixConn[] = [];
  for (let left = 1100; left > 0; left--) held.push(await connected(path));
  let cut = 0;
  for (const each of held) each.read(new Uint8Array(1)).then(() => cut++, () => {});
  await until(() => Promise.resolve(cut === 100), "those that are too many are cut");
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
