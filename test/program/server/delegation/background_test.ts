import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { connectToServer } from "../../../../src/server/delegation/delegation_client.ts";
import { callerLines, CONVERSATION, userMessage } from "../../../caller_lines.ts";
import { CLAUDE_PRINT } from "../../../claude_print.ts";
import { leftovers, processesOf } from "../../../leftovers.ts";
import { linkOrCopy } from "../../../daily/executable/link_or_copy.ts";
import { StandIn, until } from "../../stand_in.ts";
import { poolCounts } from "./pool_counts.ts";
import { serve } from "./served.ts";

const ECHO = { turns: [[{ text: "You said {prompt}, {turn}" }]] };
const AUTO = { CLAUDE_PRINT_SERVE: "auto" };

/** A folder for the sockets of a user's server, and what is in it. */
class RuntimeFolder implements AsyncDisposable {
  readonly path = Deno.makeTempDirSync({ prefix: "x" });
  readonly env = { XDG_RUNTIME_DIR: this.path };
  readonly folder = `${this.path}/claude-print`;

  /** The servers in the background that use it, as lines of processes. */
  servers(): readonly string[] {
    return processesOf(this.path).filter((line) => line.includes(" serve --background "));
  }

  /** The process of the server that listens. */
  async listener(): Promise<number> {
    let pid: number | undefined;
    await until(() => {
      const { folder } = this;
      const server = connectToServer({ folder, runSocket: `${folder}/run.sock` });
      if (typeof server !== "string") [pid] = [server.pid, server.close()];
      return pid !== undefined;
    }, "a server listens");
    return pid ?? 0;
  }

  /** Waits until a child of the server is ready. */
  async ready(): Promise<number> {
    const pid = await this.listener();
    await until(async () => (await poolCounts(this.env)).ready === 1, "a child waits");
    return pid;
  }

  /** Ends the server, and waits until nothing is left of it. */
  async end(signal: Deno.Signal = "SIGTERM"): Promise<void> {
    Deno.kill(await this.listener(), signal);
    await until(() => this.servers().length === 0, "the server ends");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const line of this.servers()) Deno.kill(Number(/\d+/u.exec(line)?.[0]), "SIGKILL");
    await Deno.remove(this.path, { recursive: true });
  }
}

Deno.test("the first run starts a server that later runs use", async () => {
  await using claude = await StandIn.set(ECHO);
  await using runtime = new RuntimeFolder();
  const env = { ...runtime.env, ...AUTO, SECRET: "of this run" };
  const print = async (args: readonly string[]) => {
    const { code, stdout, stderr } = await claude.print([...args, "--trace"], {
      ...{ env, killed: true },
    });
    assertEquals(code, 0, stderr);
    return { stdout, stderr };
  };
  const first = await print(["one"]);
  assertEquals(first.stdout, "You said one, 1\n");
  const pid = await runtime.ready();
  assertStringIncludes(first.stderr, `starts a server in the background: process ${pid}\n`);
  const environment = Deno.readTextFileSync(`/proc/${pid}/environ`);
  assertEquals(environment.includes("of this run"), false);
  assertEquals(Deno.readLinkSync(`/proc/${pid}/cwd`), "/");
  const second = await print(["two"]);
  assertEquals(second.stdout, "You said two, 1\n");
  assertStringIncludes(second.stderr, ": a child has waited\n");
  await runtime.end();
  assertEquals(await leftovers(claude.home), []);
  assertEquals([...Deno.readDirSync(runtime.path)], []);
});

Deno.test("a server gets ready for the next conversation of an SDK", async () => {
  await using claude = await StandIn.set(ECHO);
  await using runtime = new RuntimeFolder();
  const hooks = { Stop: [{ hookCallbackIds: ["hook_0"] }] };
  const request = { subtype: "initialize", systemPrompt: ["Be brief."], hooks };
  const stdin = callerLines([
    { type: "control_request", request_id: "1", request },
    userMessage("one"),
  ]);
  const env = { ...runtime.env, ...AUTO };
  const converse = () => claude.print([...CONVERSATION, "--trace"], { stdin, env, killed: true });
  assertEquals((await converse()).code, 0);
  await runtime.ready();
  assertStringIncludes((await converse()).stderr, ": a child has waited\n");
  await runtime.end();
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("two first runs at once start one server", async () => {
  await using claude = await StandIn.set(ECHO);
  await using runtime = new RuntimeFolder();
  const runs = ["one", "two"].map((prompt) =>
    claude.print(["--warm", prompt], { env: runtime.env, killed: true })
  );
  assertEquals((await Promise.all(runs)).map(({ code }) => code), [0, 0]);
  await runtime.ready();
  await until(() => runtime.servers().length === 1, "one server is left");
  await runtime.end();
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("a run replaces a server that was killed", async () => {
  await using claude = await StandIn.set(ECHO);
  await using runtime = new RuntimeFolder();
  const print = async () => {
    const { stdout } = await claude.print(["--warm", "one"], { env: runtime.env, killed: true });
    assertEquals(stdout, "You said one, 1\n");
    return await runtime.ready();
  };
  const pid = await print();
  await runtime.end("SIGKILL");
  assertEquals([...Deno.readDirSync(runtime.folder)].length, 3);
  assertEquals(await print() === pid, false);
  await runtime.end();
  assertEquals([...Deno.readDirSync(runtime.path)], []);
});

Deno.test("a run starts no server unasked, or in a foreign folder", async () => {
  await using claude = await StandIn.set(ECHO);
  await using runtime = new RuntimeFolder();
  const rows = [
    [[], {}],
    [["--warm"], { CLAUDE_PRINT_SERVE: "off" }],
    [["--cold"], AUTO],
    // A tool of Claude Code leaves nothing behind.
    [["--warm"], { CLAUDECODE: "1" }],
  ] as const;
  for (const [args, more] of rows) {
    const env = { ...runtime.env, ...more };
    const { stderr } = await claude.print([...args, "--trace", "one"], { env, warns: true });
    assertEquals([stderr.includes("server"), runtime.servers()], [false, []], `${args}`);
  }
  await Deno.mkdir(runtime.folder, { mode: 0o700 });
  await Deno.chmod(runtime.folder, 0o750);
  const { stdout, stderr } = await claude.print(["--warm", "one"], {
    ...{ env: runtime.env, killed: true },
  });
  assertEquals([stdout, stderr], ["You said one, 1\n", ""]);
  await until(() => runtime.servers().length === 0, "the server ends");
  assertEquals([...Deno.readDirSync(runtime.folder)], []);
});

Deno.test("an unused server in the background ends itself", async () => {
  await using claude = await StandIn.set(ECHO);
  const { env, project } = claude.home;
  await using server = await serve({
    ...{ args: ["--background", "1"], env },
    stdin: (found) =>
      JSON.stringify({
        argv: ["--claude-binary", claude.binary, "-p", "one"],
        env: { ...env, ...found },
        cwd: project,
      }),
  });
  assertEquals(await server.ended, { code: 0, stdout: `${server.httpSocket}\n`, stderr: "" });
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("a server in the background ends with its program", async () => {
  const folder = await Deno.makeTempDir();
  const program = CLAUDE_PRINT.at(-1) ?? "";
  const root = program.replace(/(?:\/src)?\/[^/]*$/u, "");
  if (CLAUDE_PRINT.length === 1) await linkOrCopy(root, `${folder}/root`);
  else await Deno.symlink(root, `${folder}/root`);
  await using server = await serve({
    args: ["--background", "600"],
    wrap: (command) =>
      command.map((word) => word === program ? word.replace(root, `${folder}/root`) : word),
  });
  await Deno.remove(folder, { recursive: true });
  assertMatch((await server.ended).stdout, /http\.sock\n$/u);
});
