import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { denoDir } from "../../../../fixtures/programs/deno_dir.ts";
import { eventsOf } from "../../server/http/serve_in_process.ts";
import { poolCounts } from "../../server/delegation/pool_counts.ts";
import { serve, type Served } from "../../server/delegation/served.ts";
import { StandIn, until } from "../../stand_in.ts";
import { leftovers } from "../../../leftovers.ts";
import { startProgram } from "../../../start_program.ts";
import { isOurUnit } from "../../../../src/server/systemd_units.ts";
import { saidOf, socketClient } from "../../server/http/socket_client.ts";
import { tempFolder } from "../../../temp_folder.ts";

Deno.test("one server listens and replaces a killed one", async () => {
  using temp = tempFolder();
  const start = () => serve({ inTemp: temp.path });
  await using first = await start();
  assertEquals((Deno.lstatSync(first.httpSocket).mode ?? 0) & 0o777, 0o600);
  using client = socketClient(first.httpSocket);
  assertEquals((await client.ask("GET", "/healthz")).status, 200);
  const { message } = await assertRejects(start, Error);
  assertMatch(message, /: claude-print: Cannot start the server: another one is there, in /u);
  first.kill("SIGKILL");
  await first.ended;
  await using second = await start();
  using another = socketClient(second.httpSocket);
  assertEquals((await another.ask("GET", "/healthz")).status, 200);
  const { status, body } = await another.ask("GET", "/nowhere");
  assertEquals([status, body.detail], [404, "Cannot answer GET /nowhere: there is no such path"]);
  second.kill("SIGTERM");
  const stdout = `${second.httpSocket}\n`;
  assertEquals(await second.ended, { code: 0, stdout, stderr: "" });
  assertEquals(temp.names(), []);
});

Deno.test("serve answers on loopback only with the token", async () => {
  using temp = tempFolder();
  let told = "";
  const args = ["--port", "0", "--warm", "0"];
  await using server = await serve({ args, inTemp: temp.path, onStdout: (text) => told = text });
  const [, url = "", file = ""] =
    /^(http:\/\/127\.0\.0\.1:\d+) \(its token: (.+)\)$/mu.exec(told) ?? [];
  assertEquals((Deno.lstatSync(file).mode ?? 0) & 0o777, 0o600);
  const authorization = `Bearer ${Deno.readTextFileSync(file).trim()}`;
  const status = async (headers: Readonly<Record<string, string>>) =>
    (await saidOf(await fetch(`${url}/v1/conversations`, { headers }))).status;
  assertEquals(await status({}), 401);
  assertEquals(await status({ authorization }), 200);
  assertEquals(await status({ authorization, origin: "http://a.example" }), 403);
  using client = socketClient(server.httpSocket);
  assertEquals((await client.ask("GET", "/v1/conversations")).body, { conversations: [] });
  server.kill("SIGTERM");
  assertEquals((await server.ended).code, 0);
  assertEquals(temp.names(), []);
});

/** A server with a conversation in it that has been told something. */
async function talking(claude: StandIn) {
  const server = await serve({ env: claude.home.env, cwd: claude.home.project });
  const client = socketClient(server.httpSocket);
  const opening = { profile: { args: ["--claude-binary", claude.binary] } };
  const open = () => client.ask("POST", "/v1/conversations", opening);
  const path = `/v1/conversations/${(await open()).body.id}`;
  await client.ask("POST", `${path}/messages`, { content: "hello" });
  return {
    server,
    open,
    events: () => client.request("GET", `${path}/events`),
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
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
      while ((await talk.open()).status !== 503);
    }
    talk.server.kill(last);
    assertEquals((await talk.server.ended).code, 0);
    assertEquals(await leftovers(claude.home), []);
  }
});

Deno.test("serve status reports, serve stop ends the server", async () => {
  await using claude = await StandIn.set({ hang: "stream", turns: [[{ text: "Never said." }]] });
  {
    await using talk = await talking(claude);
    const run = async (...args: readonly string[]) => {
      const env = { ...claude.home.env, ...talk.server.env };
      return await startProgram([...CLAUDE_PRINT, "serve", ...args], { env, cwd: "/" }).ended;
    };
    await claude.untilNoted("prompt");
    const { code, stdout } = await run("status");
    assertEquals(code, 0);
    assertMatch(
      stdout,
      /^Running for \d+ s \(version \S+, pid \d+\)\nSocket: \/.+\nConversations: 1 of/u,
    );
    const waiting = run("stop");
    const state = async () => JSON.parse((await run("status", "--json")).stdout).state;
    await until(async () => await state() === "stopping", "it is stopping");
    assertEquals((await run("stop", "--now")).stdout, "The server has ended\n");
    const lock = talk.server.httpSocket.replace("http.sock", "lock");
    await assertRejects(() => Deno.lstat(lock), Deno.errors.NotFound);
    assertEquals((await waiting).stdout, "The server has ended\n");
    assertEquals((await talk.server.ended).code, 0);
    const none = await run("status");
    assertEquals([none.code, none.stdout], [2, ""]);
    assertStringIncludes(none.stderr, "No server is running\n  Start one: ");
    assertEquals(await run("stop"), { code: 0, stdout: "No server is running\n", stderr: "" });
  }
  assertEquals(await leftovers(claude.home), []);
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
    await using _next = await serve({ env: claude.home.env });
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
    using client = socketClient(server.httpSocket);
    const { body } = await client.ask("POST", "/v1/run", { prompt: "hello", args });
    assertEquals(body.result.result, "You said hello");
    const metrics = await client.ask("GET", "/metrics");
    // It is the one for which a child has waited, and there is no other.
    assertStringIncludes(metrics.body, "\nclaude_print_pool_profiles 1\n");
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
  const refused = {
    '{"record": true}': "its start is recorded",
    '{"args": ["--continue"]}': "it goes on with a session",
  };
  for (const [line, why] of Object.entries(refused)) {
    await assertRejects(() => start(line), Error, why);
  }
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("serve --install writes units, --uninstall removes them", async () => {
  using temp = tempFolder();
  const home = temp.path;
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
});
