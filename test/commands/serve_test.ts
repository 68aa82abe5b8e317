import { assertEquals, assertMatch } from "@std/assert";
import { CLAUDE_PRINT } from "../claude_print.ts";
import { denoDir } from "../../fixtures/programs/deno_dir.ts";
import { startProgram } from "../start_program.ts";

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

Deno.test("serve is reached on its socket, is one, and takes the place of one that was killed", async () => {
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

Deno.test("serve speaks HTTP on loopback with those who know the token, and ends with a drain", async () => {
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
