import { assert, assertEquals, assertMatch } from "@std/assert";
import { fakeServer, toldOf } from "./fake_server.ts";

Deno.test("ps lists conversations as a table and as JSON, and nothing in them drives a terminal", async () => {
  const conversations = [
    toldOf("aaaaaaaa-1", { state: "waiting", waiting: { for: "permission", cause: "Bash" } }),
    toldOf("aaaaaaaa-2", { cwd: "/x\x1b[2J\u202e" }),
  ];
  await using server = await fakeServer((_, path) =>
    path === "/v1/conversations"
      ? Response.json({ conversations })
      : Response.json({}, { status: 404 })
  );
  assertEquals(await server.run("ps"), {
    code: 0,
    stderr: "",
    stdout: `ID          STATE                FOR  TURNS  COST     FOLDER
aaaaaaaa-1  waiting: permission  5 h  2      $0.5000  /home/me
aaaaaaaa-2  idle                 5 h  2      $0.5000  /x<U+001B>[2J<U+202E>
`,
  });
  const { stdout } = await server.run("ps", "--json");
  assertEquals(JSON.parse(stdout), { conversations });
  for (const unseen of ["\x1b", "\u202e"]) assert(!stdout.includes(unseen));
});

Deno.test("ps says that nothing is there, that no server is, or that it is none of ours", async () => {
  let body: unknown = { conversations: [] };
  await using server = await fakeServer(() => Response.json(body));
  assertEquals((await server.run("ps")).stdout, "There are no conversations\n");
  body = { conversations: [{ id: 7 }] };
  const other = await server.run("ps");
  assertEquals([other.code, other.stdout], [2, ""]);
  assertMatch(
    other.stderr,
    /^claude-print: Cannot understand the server: it is of another version$/mu,
  );
  await Deno.chmod(server.folder, 0o755);
  const open = await server.run("ps");
  assertMatch(open.stderr, /cannot be trusted: others may enter it/u);
  await Deno.chmod(server.folder, 0o700);
  await Deno.remove(`${server.folder}/http.sock`);
  const none = await server.run("ps");
  assertEquals([none.code, none.stdout], [2, ""]);
  assertMatch(none.stderr, /Cannot ask the server: there is none\n.*claude-print serve/u);
  await Deno.writeTextFile(`${server.folder}/http.sock`, "");
  const dead = await server.run("ps");
  assertEquals([dead.code, dead.stdout], [2, ""]);
  assertMatch(dead.stderr, /Cannot ask the server: it does not answer\n/u);
});
