import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { denoDir } from "../../../fixtures/programs/deno_dir.ts";
import { eventsOf } from "../serve/http/serve_in_process.ts";
import { poolCounts } from "../serve/runs/pool_counts.ts";
import { serve, type Served } from "../serve/runs/served.ts";
import { StandIn, until } from "../stand_in.ts";
import { leftovers } from "../../leftovers.ts";
import { startProgram } from "../../start_program.ts";
import { isOurUnit } from "../../../src/serve/unit/unit_files.ts";

/** A folder for everything of a server's, and servers in it. */
async function scene() {
  const folder = await Deno.realPath(await Deno.makeTempDir());
  const env = { PATH: "/usr/bin:/bin", DENO_DIR: await denoDir(), TMPDIR: folder, HOME: folder };
  return {
    folder,
    start: async (...args: string[]) => {
      const { promise: told, resolve } = Promise.withResolvers<string>();
      const { child, ended } = startProgram([...CLAUDE_PRINT, "serve", ...args], {
        env,
        cwd: "/",
        onStdout: (text) => text.endsWith("\n") && resolve(text.trim()),
      });
      const socket = await Promise.race([told, ended.then(({ stdout }) => stdout)]);
      return { child, ended, socket };
    },
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}

async function ask(socket: string, path: string): Promise<readonly [number, unknown]> {
  using client = Deno.createHttpClient({ proxy: { transport: "unix", path: socket } });
  const answer = await fetch(`http://localhost${path}`, { client });
  return [answer.status, await answer.json()];
}

Deno.test("one server listens and replaces a killed one", async () => {
  await using there = await scene();
  const first = await there.start();
  assertEquals(first.socket, `${there.folder}/claude-print-${Deno.uid()}/serve/http.sock`);
  assertEquals((Deno.lstatSync(first.socket).mode ?? 0) & 0o777, 0o600);
  assertEquals((await ask(first.socket, "/healthz"))[0], 200);
  const other = await (await there.start()).ended;
  assertEquals([other.code, other.stdout], [2, ""]);
  assertMatch(other.stderr, /^claude-print: Cannot start the server: another one is there, in /u);
  first.child.kill("SIGKILL");
  await first.ended;
  const second = await there.start();
  assertEquals((await ask(second.socket, "/healthz"))[0], 200);
  const [status, problem] = await ask(second.socket, "/nowhere");
  assertEquals([status, (problem as { detail: string }).detail], [
    404,
    "Cannot answer GET /nowhere: there is no such path",
  ]);
  second.child.kill("SIGTERM");
  assertEquals(await second.ended, { code: 0, stdout: `${second.socket}\n`, stderr: "" });
  assertEquals([...Deno.readDirSync(there.folder)], []);
});

Deno.test("serve answers on loopback only with the token", async () => {
  await using there = await scene();
  const { child, ended, socket } = await there.start("--port", "0", "--warm", "0");
  const [path = "", line = ""] = socket.split("\n");
  const [, url = "", file = ""] = /^(http:\/\/127\.0\.0\.1:\d+) \(its token: (.+)\)$/u.exec(line) ??
    [];
  assertEquals((Deno.lstatSync(file).mode ?? 0) & 0o777, 0o600);
  const token = Deno.readTextFileSync(file).trim();
  const status = async (headers: Readonly<Record<string, string>>) => {
    const answer = await fetch(`${url}/v1/conversations`, { headers });
    await answer.body?.cancel();
    return answer.status;
  };
  assertEquals(await status({}), 401);
  assertEquals(await status({ authorization: `Bearer ${token}` }), 200);
  assertEquals(await status({ authorization: `Bearer ${token}`, origin: "http://a.example" }), 403);
  assertEquals(await ask(path, "/v1/conversations"), [200, { conversations: [] }]);
  child.kill("SIGTERM");
  assertEquals((await ended).code, 0);
  assertEquals([...Deno.readDirSync(there.folder)], []);
});

/** A server with a conversation in it that has been told something. */
async function talking(claude: StandIn) {
  const server = await serve({
    args: ["--warm", "0"],
    env: claude.home.env,
    cwd: claude.home.project,
  });
  const client = Deno.createHttpClient({
    proxy: { transport: "unix", path: `${server.env.XDG_RUNTIME_DIR}/claude-print/http.sock` },
  });
  const post = async (path: string, body: unknown) =>
    await fetch(`http://localhost/v1/conversations${path}`, {
      client,
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });
  const opening = { profile: { args: ["--claude-binary", claude.binary] } };
  const { id } = await (await post("", opening)).json();
  await (await post(`/${id}/messages`, { content: "hello" })).body?.cancel();
  return {
    server,
    open: () => post("", opening),
    events: () => fetch(`http://localhost/v1/conversations/${id}/events`, { client }),
    async [Symbol.asyncDispose]() {
      client.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

Deno.test("SIGTERM waits for turns, a second signal ends them", async () => {
  {
    await using claude = await StandIn.set({ turns: [[{ text: "Slowly.", ms: 300 }]] });
    await using talk = await talking(claude);
    const events = eventsOf(await talk.events());
    await claude.untilNoted("prompt");
    talk.server.kill("SIGTERM");
    const kinds = (await Array.fromAsync(events)).map(({ data, event }) => data.type ?? event);
    assertEquals([kinds.includes("result"), kinds.at(-1)], [true, "end"]);
    assertEquals((await talk.server.ended).code, 0);
    assertEquals(await leftovers(claude.home), []);
  }
  for (const last of ["SIGINT", "SIGQUIT"] as const) {
    await using claude = await StandIn.set({ hang: "stream", turns: [[{ text: "Never said." }]] });
    await using talk = await talking(claude);
    await claude.untilNoted("prompt");
    // SIGQUIT is heard at once.
    if (last !== "SIGQUIT") {
      talk.server.kill("SIGTERM");
      // It says so once it has taken the first signal.
      for (;;) {
        const answer = await talk.open();
        await answer.body?.cancel();
        if (answer.status === 503) break;
      }
    }
    talk.server.kill(last);
    assertEquals((await talk.server.ended).code, 0);
    assertEquals(await leftovers(claude.home), []);
  }
});

Deno.test("the next server removes a killed server's leftovers", async () => {
  await using claude = await StandIn.set({ hang: "stream", turns: [[{ text: "Never said." }]] });
  {
    await using talk = await talking(claude);
    await claude.untilNoted("prompt");
    talk.server.kill("SIGKILL");
    await talk.server.ended;
    assert((await leftovers(claude.home)).length > 0);
  }
  {
    await using _next = await serve({ args: ["--warm", "0"], env: claude.home.env });
  }
  assertEquals(await leftovers(claude.home), []);
  assertEquals(claude.transcripts().size, 1);
});

Deno.test("children wait for the profiles of a file", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}" }]] });
  const file = `${claude.home.path}/profiles`;
  const print = (server: Served, more: readonly string[]) =>
    claude.print(["--trace", "hello", ...more], { env: server.env, killed: true });
  const start = (lines: string) => {
    Deno.writeTextFileSync(file, lines);
    return serve({
      args: ["--profiles", "../profiles", "--idle", "0"],
      env: claude.home.env,
      cwd: claude.home.project,
    });
  };
  const args = ["--claude-binary", claude.binary];
  {
    await using server = await start(`${JSON.stringify({ args, asks: false })}\n\n`);
    await claude.untilNoted("start");
    const socket = `${server.env.XDG_RUNTIME_DIR}/claude-print/http.sock`;
    using client = Deno.createHttpClient({ proxy: { transport: "unix", path: socket } });
    const answer = await fetch("http://localhost/v1/run", {
      client,
      method: "POST",
      body: JSON.stringify({ prompt: "hello", args }),
      headers: { "content-type": "application/json" },
    });
    assertEquals((await answer.json()).result.result, "You said hello");
    const metrics = await fetch("http://localhost/metrics", { client });
    // It is the one for which a child has waited, and there is no other.
    assertStringIncludes(await metrics.text(), "\nclaude_print_pool_profiles 1\n");
  }
  {
    const profiles = [
      [{ args, asks: false }, ["--output-format", "json", "--verbose"]],
      [{ args, json: true }, ["--output-format", "json"]],
      [{ args, text: true }, []],
    ] as const;
    await using server = await start(profiles.map(([line]) => JSON.stringify(line)).join("\n"));
    await until(async () => (await poolCounts(server.env)).ready === 3, "all wait");
    // Whoever is given another one's leaves none to the last.
    for (const [, more] of profiles) {
      const { code, stdout, stderr } = await print(server, more);
      assertEquals(code, 0, stderr);
      assertStringIncludes(stdout, "You said hello");
      assertStringIncludes(stderr, ": a child has waited\n");
    }
  }
  assertEquals(await leftovers(claude.home), []);
  for (
    const [lines, why] of [
      ['{"record": true}', "its start is recorded"],
      ['{"args": ["--continue"]}', "it goes on with a session"],
    ] as const
  ) {
    const refused = await assertRejects(() => start(lines), Error);
    assertStringIncludes(refused.message, why);
  }
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("serve --install writes units, --uninstall removes them", async () => {
  const home = await Deno.makeTempDir();
  const serve = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    await startProgram([...CLAUDE_PRINT, "serve", ...args], {
      env: {
        HOME: home,
        PATH: "/usr/bin:/bin",
        DENO_DIR: await denoDir(),
        ANTHROPIC_API_KEY: "sk-ant-secret",
        ...env,
      },
      cwd: "/",
    }).ended;
  try {
    const nowhere = await serve(["--install"]);
    assertEquals([nowhere.code, nowhere.stdout], [2, ""]);
    assertMatch(nowhere.stderr, /XDG_RUNTIME_DIR is not set/u);
    const installed = await serve(["--install"], { XDG_RUNTIME_DIR: home });
    assertEquals([installed.code, installed.stderr], [0, ""]);
    assertMatch(installed.stdout, /systemctl --user enable --now claude-print\.socket/u);
    const path = `${home}/.config/systemd/user/claude-print.service`;
    const text = await Deno.readTextFile(path);
    assert(isOurUnit(text), text);
    assertMatch(text, /^ExecStart=".+" "serve"$/mu);
    assertMatch(text, /^Environment="PATH=\/usr\/bin:\/bin"$/mu);
    assert(!text.includes("sk-ant-secret"));
    await Deno.writeTextFile(path, "# mine\n", { append: true });
    const refused = await serve(["--uninstall"]);
    assertEquals([refused.code, refused.stdout], [2, ""]);
    assertMatch(refused.stderr, /claude-print\.service" was written or changed by somebody else/u);
    await Deno.writeTextFile(path, text);
    assertEquals((await serve(["--uninstall"])).code, 0);
    assertEquals([...Deno.readDirSync(`${home}/.config/systemd/user`)], []);
    assertMatch((await serve(["--uninstall"])).stdout, /^There is nothing to remove in /u);
    const both = await serve(["--uninstall", "--install"]);
    assertMatch(both.stderr, /--install and --uninstall were both given/u);
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});
