import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { missingTool } from "../../missing_tool.ts";
import { processesOf } from "../../leftovers.ts";
import { serve } from "../../program/server/delegation/served.ts";
import { StandIn } from "../../program/stand_in.ts";
import { skipIfLacking } from "../../skip_if_lacking.ts";
import { asAnotherUser, OTHER_USER_LACK } from "../../other_user.ts";
import { socketClient } from "../../program/server/http/socket_client.ts";
import { inShell } from "../../in_shell.ts";

/** All that another user may try at the processes $1, and at the folders $2 and its $3. */
const SNOOP = `
for pid in $1; do
  for file in environ cmdline stack auxv io syscall; do cat "/proc/$pid/$file"; done
  ls -l "/proc/$pid/fd" "/proc/$pid/cwd" "/proc/$pid/exe" && echo "REACHED what $pid has open"
  for fd in 0 1 2 20; do timeout 1 head -c 1 "/proc/$pid/fd/$fd" && echo "REACHED fd $fd of $pid"; done
  kill -0 "$pid" && echo "REACHED $pid by a signal"
done
for folder in "$2" "$2/"*/ "$3"; do
  cd "$folder" && echo "REACHED $folder"
  ls -la "$folder"
  touch "$folder/mine" && echo "REACHED $folder"
  mv "$folder" "$folder.moved" && echo "REACHED the place of $folder"
done
for file in token lock run.sock http.sock; do cat "$3/$file" && echo "REACHED $file"; done
find "$2" "$3" -type f -exec cat {} +
true
`;

/** Requests of another user to the sockets in $1, and to the origin $2 about the conversation $3. */
const TALK = `
for socket in run.sock http.sock; do
  curl -sS -m 5 --unix-socket "$1/$socket" http://localhost/ && echo "REACHED $socket"
done
for path in / /v1/server /v1/conversations "/v1/conversations/$3" "/v1/conversations/$3/events" /openapi.json /metrics; do
  for header in 'X: y' 'Authorization: Bearer 0' 'Authorization: Basic OjA=' 'Cookie: token=0'; do
    curl -sS -m 5 -w '\\nstatus %{http_code}\\n' -H "$header" "$2$path"
  done
done
curl -sS -m 5 -w '\\nstatus %{http_code}\\n' -H 'Content-Type: application/json' -d '{"prompt":"x"}' "$2/v1/run"
curl -sS -m 5 -w '\\nstatus %{http_code}\\n' -X DELETE "$2/v1/server?now=true"
curl -sS -m 5 -w '\\nstatus %{http_code}\\n' -X POST "$2/v1/conversations/$3/interrupt"
`;

Deno.test(skipIfLacking(OTHER_USER_LACK ?? missingTool("curl"), {
  name: "another user cannot reach a server",
  async fn() {
    // Not the words of any other program on the machine.
    const [prompt, key, variable] = ["prompt", "key", "variable"]
      .map((what) => `${what}-${crypto.randomUUID()}`);
    await using claude = await StandIn.set({ hang: "answer" });
    const { path, tmp, project } = claude.home;
    // As /tmp is: the server's folder is among those of runs.
    await Deno.chmod(path, 0o755);
    await Deno.chmod(tmp, 0o1777);
    const profile = {
      args: ["--claude-binary", claude.binary],
      cwd: project,
      env: { SECRET: variable },
    };
    const profiles = `${path}/profiles`;
    await Deno.writeTextFile(profiles, JSON.stringify(profile), { mode: 0o600 });
    const told = Promise.withResolvers<string>();
    await using _server = await serve({
      args: ["--port", "0", "--profiles", profiles],
      env: { ...claude.home.env, ANTHROPIC_API_KEY: key ?? "" },
      cwd: project,
      inTemp: tmp,
      onStdout: told.resolve,
      // A umask hides nothing here, so every mode has to be asked for.
      wrap: inShell('umask 000; exec "$@"'),
    });
    const [, socket = "", origin = "", tokenFile = ""] =
      /^(.+)\n(http:\S+) \(its token: (.+)\)\n$/u.exec(await told.promise) ?? [];
    const folder = socket.replace(/\/http\.sock$/u, "");
    const token = (await Deno.readTextFile(tokenFile)).trim();
    using client = socketClient(socket);
    // There is a warm child beside the child of the conversation.
    await claude.untilNoted("start");
    const other = { ...profile, args: [...profile.args, "--model", "haiku"] };
    const { body: { id } } = await client.ask("POST", "/v1/conversations", { profile: other });
    await client.ask("POST", `/v1/conversations/${id}/messages`, { content: prompt });
    await claude.untilNoted("prompt");
    const pids = processesOf(path).map((each) => /\d+/u.exec(each)?.[0]).join(" ");
    const tried = [
      await asAnotherUser(["/bin/sh", "-c", SNOOP, "sh", pids, tmp, folder]),
      await asAnotherUser(["/bin/sh", "-c", TALK, "sh", folder, origin, id]),
    ];
    const output = tried.map(({ output }) => output).join("");
    assertEquals(output.match(/^REACHED .*$/gmu), [`REACHED ${tmp}`, `REACHED ${tmp}`]);
    assertEquals([...new Set(output.match(/^status .*$/gmu))], ["status 401"]);
    const seen = [prompt, key, variable, token, id].filter((word) => output.includes(`${word}`));
    assertEquals(seen, []);
    assertMatch(output, /http\.sock: Permission denied/u);
    assertEquals((await client.ask("GET", `/v1/conversations/${id}`)).body.state, "working");
    assertEquals((await client.ask("GET", "/v1/server")).body.state, "running");
    await client.ask("DELETE", `/v1/conversations/${id}`);
  },
}));

Deno.test(skipIfLacking(OTHER_USER_LACK, {
  name: "planted folders of another user do not stop runs",
  async fn() {
    const tmp = await Deno.realPath(await Deno.makeTempDir());
    await Deno.chmod(tmp, 0o1777);
    const usual = `${tmp}/claude-print-${Deno.uid()}`;
    const taken = [usual, `${usual}-00000000`];
    for (const folder of taken) {
      assertEquals((await asAnotherUser(["mkdir", "-m", "777", folder])).code, 0);
    }
    await using claude = await StandIn.set();
    const print = async () => {
      const options = { env: { TMPDIR: tmp, XDG_RUNTIME_DIR: "" }, warns: true };
      const run = await claude.print(["hello", "--trace"], options);
      assertEquals([run.code, run.stdout], [0, "Hello from the stand-in.\n"]);
      return run.stderr;
    };
    assertMatch(await print(), new RegExp(`sandbox ${usual}-(?!00000000)[0-9a-f]{8}/`, "u"));
    {
      await using server = await serve({ inTemp: tmp });
      assertStringIncludes(await print(), `/${server.pid}-`);
      for (const folder of taken) {
        assertEquals([...Deno.readDirSync(folder)], []);
        await Deno.remove(folder);
      }
      assertStringIncludes(await print(), `/${server.pid}-`);
    }
    assertEquals([...Deno.readDirSync(tmp)], []);
    await Deno.remove(tmp, { recursive: true });
  },
}));
