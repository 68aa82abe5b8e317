import { denoDir } from "../../../../../fixtures/programs/deno_dir.ts";
import { CLAUDE_PRINT } from "../../../../claude_print.ts";
import { type ProgramOutput, startProgram } from "../../../../start_program.ts";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { runInTerminal } from "../../../terminal_run.ts";

/** A server that says what a test has it say, at the socket of a user's server. */
interface FakeServer extends AsyncDisposable {
  /** The folder of the socket. */
  readonly folder: string;
  /** Runs `claude-print` where that server is the user's. */
  readonly run: (...args: string[]) => Promise<ProgramOutput>;
  /** Attaches a terminal; `type` returns what is typed for an output. */
  readonly attach: (
    args: readonly string[],
    type?: (shown: string) => string | undefined,
  ) => ReturnType<typeof runInTerminal>;
}

const SIZE = { rows: 5, cols: 40 };
const NOT_FOUND = () => Response.json({}, { status: 404 });

/** Starts a server that lists conversations and warm children, and answers other requests by a function. */
async function fakeServer(
  answer: (request: Request, path: string) => Response | Promise<Response>,
  conversations: () => unknown = () => [toldOf("a")],
  warmChildren: readonly unknown[] = [],
): Promise<FakeServer> {
  const runtime = await Deno.makeTempDir();
  const folder = `${runtime}/claude-print`;
  await Deno.mkdir(folder, { mode: 0o700 });
  const server = Deno.serve(
    { path: `${folder}/http.sock`, onListen: () => {} },
    (request) => {
      const { pathname } = new URL(request.url);
      switch (pathname) {
        case "/v1/conversations":
          return Response.json({ conversations: conversations() });
        case "/v1/server":
          return Response.json({ ...STATUS, warm_children: warmChildren });
        default:
          return answer(request, pathname);
      }
    },
  );
  const env = {
    PATH: "/usr/bin:/bin",
    DENO_DIR: await denoDir(),
    XDG_RUNTIME_DIR: runtime,
    TERM: "xterm-256color",
    // A socket is asked whatever these say.
    HTTP_PROXY: "http://127.0.0.1:1",
    NO_PROXY: "localhost,*",
  };
  return {
    folder,
    run: (...args) => startProgram([...CLAUDE_PRINT, ...args], { env, cwd: "/" }).ended,
    attach: (args, type = () => undefined) =>
      runInTerminal([...CLAUDE_PRINT, "attach", ...args], { size: SIZE, cwd: "/", env, type }),
    [Symbol.asyncDispose]: async () => {
      await server.shutdown();
      await Deno.remove(runtime, { recursive: true });
    },
  };
}

const STATUS = {
  version: "1",
  pid: 1,
  started_at: new Date().toISOString(),
  state: "running",
  socket: "/s",
  conversations: 0,
  runs: 0,
  limit: 1,
};

/** A conversation as a server tells of it. */
function toldOf(
  id: string,
  more: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    id,
    state: "idle",
    since: new Date(Date.now() - 3_600_000 * 5).toISOString(),
    turns: 2,
    total_cost_usd: 0.5,
    last_event_id: 2,
    cwd: "/home/me",
    ...more,
  };
}

Deno.test("ps lists conversations and warm children", async () => {
  const conversations = [
    toldOf("aaaaaaaa-1", { state: "waiting", waiting: { for: "permission", cause: "Bash" } }),
    toldOf("aaaaaaaa-2", { cwd: "/x\x1b[2J\u202e" }),
  ];
  const warm_children = [
    { state: "ready", since: new Date(Date.now() - 7_200_000).toISOString(), cwd: "/w\x1b" },
  ];
  await using server = await fakeServer(NOT_FOUND, () => conversations, warm_children);
  assertEquals(await server.run("ps"), {
    code: 0,
    stderr: "",
    stdout: `ID          STATE                FOR  TURNS  COST     FOLDER
aaaaaaaa-1  waiting: permission  5 h  2      $0.5000  /home/me
aaaaaaaa-2  idle                 5 h  2      $0.5000  /x<U+001B>[2J<U+202E>
-           warm: ready          2 h  -      -        /w<U+001B>
`,
  });
  const { stdout } = await server.run("ps", "--json");
  assertEquals(JSON.parse(stdout), { conversations, warm_children });
  for (const unseen of ["\x1b", "\u202e"]) assert(!stdout.includes(unseen));
});

Deno.test("ps names a missing, foreign or empty server", async () => {
  let conversations: unknown = [];
  await using server = await fakeServer(NOT_FOUND, () => conversations);
  assertEquals(
    (await server.run("ps")).stdout,
    "There are no conversations and no warm children\n",
  );
  conversations = [{ id: 7 }];
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
  assertMatch(none.stderr, /No server is running\n.*claude-print serve/u);
  await Deno.writeTextFile(`${server.folder}/http.sock`, "");
  const dead = await server.run("ps");
  assertEquals([dead.code, dead.stdout], [2, ""]);
  assertMatch(dead.stderr, /Cannot ask the server: it does not answer\n/u);
});

const FIRST = JSON.stringify({ type: "system", note: "a\u202eb\u009b" });
const SECOND = JSON.stringify({ type: "result", result: "4" });

/** A server with conversations whose events go on until the test says so. */
async function scene(rest: Promise<string>): Promise<FakeServer> {
  return await fakeServer(() => {
    const body = new ReadableStream<string>({
      start: async (controller) => {
        controller.enqueue(`: \n\nid: 1\ndata: ${FIRST}\n\nid: 2\ndata: ${SECOND}\n\n`);
        controller.enqueue(await rest);
        controller.close();
      },
    });
    return new Response(body.pipeThrough(new TextEncoderStream()));
  }, () => [toldOf("aa-1"), toldOf("ab-2"), toldOf("c", { last_event_id: 0 })]);
}

Deno.test("logs prints frames, and with --follow later ones", async () => {
  const { promise, resolve } = Promise.withResolvers<string>();
  await using server = await scene(promise);
  const { code, stdout, stderr } = await server.run("logs", "aa");
  assertEquals([code, stderr], [0, ""]);
  assertEquals(stdout.trimEnd().split("\n").map((line) => JSON.parse(line)), [
    JSON.parse(FIRST),
    JSON.parse(SECOND),
  ]);
  for (const unseen of ["\u009b", "\u202e"]) assert(!stdout.includes(unseen));
  assertEquals((await server.run("logs", "c")).stdout, "");
  const following = server.run("logs", "aa-1", "--follow");
  resolve('id: 3\ndata: {"type":"late"}\n\nevent: end\ndata: {}\n\n');
  const { code: followed, stdout: all } = await following;
  assertEquals([followed, all], [0, `${stdout}{"type":"late"}\n`]);
});

Deno.test("logs names unknown, ambiguous and lost conversations", async () => {
  await using server = await scene(
    Promise.resolve('event: problem\ndata: {"detail":"the disk is full"}\n\n'),
  );
  const nobody = await server.run("logs", "zz");
  assertEquals([nobody.code, nobody.stdout], [2, ""]);
  assertMatch(nobody.stderr, /Cannot find the conversation "zz"\n.*claude-print ps/u);
  assertMatch((await server.run("logs", "a")).stderr, /there are 2\n/u);
  const lost = await server.run("logs", "aa", "--follow");
  assertEquals([lost.code, lost.stdout.split("\n").length], [2, 3]);
  assertMatch(lost.stderr, /Cannot print all frames: the disk is full\n/u);
  assertMatch((await server.run("logs")).stderr, /logs needs the id of a conversation/u);
});

Deno.test("logs names a server that goes away", async () => {
  await using server = await scene(Promise.resolve(""));
  const { code, stderr } = await server.run("logs", "aa", "--follow");
  assertEquals(code, 2);
  assertMatch(stderr, /Cannot ask the server: it does not answer\n/u);
});

const SCREEN = "one\ntwo\x1b[31m\nthree\nfour\n❯\u{a0}five   \n\n";

Deno.test("attach without a terminal prints the screen once", async () => {
  await using server = await fakeServer((_, path) =>
    path === "/v1/conversations/a/screen" ? new Response(SCREEN) : NOT_FOUND()
  );
  assertEquals(await server.run("attach", "a"), {
    code: 0,
    stdout: "one\ntwo<U+001B>[31m\nthree\nfour\n❯ five\n",
    stderr: "",
  });
  const refused = await server.run("attach", "a", "--take-over");
  assertEquals([refused.code, refused.stdout], [2, ""]);
  assertMatch(
    refused.stderr,
    /Cannot take over the conversation: stdin and stdout are no terminal/u,
  );
});

Deno.test("attach shows the screen and restores the terminal", async () => {
  const asked: string[] = [];
  await using server = await fakeServer((request, path) => {
    asked.push(`${request.method} ${path}`);
    return new Response(SCREEN);
  });
  const leave = (shown: string) => shown.includes("q leaves") ? "xq" : undefined;
  const { exit, output } = await server.attach(["a"], leave);
  assertEquals(exit, { kind: "exited", code: 0 });
  assert(output.startsWith("\x1b[?1049h"));
  assert(output.endsWith("\x1b[?1049l"));
  const rows = ["two<U+001B>[31m", "three", "four", "❯ five", ""];
  assert(output.replaceAll("\r", "").includes(rows.join("\n\x1b[K")), output);
  assert(!output.includes("one"), "there is room for four rows");
  assert(asked.every((line) => line.startsWith("GET ")), asked.join());
});

Deno.test("attach --take-over sends keys until Ctrl-]", async () => {
  let keys = "";
  let isOver = false;
  await using server = await fakeServer(async (request, path) => {
    if (path !== "/v1/conversations/a/keys") return new Response(SCREEN + keys);
    for await (const bytes of request.body ?? []) keys += new TextDecoder().decode(bytes);
    isOver = true;
    return new Response(null, { status: 204 });
  });
  const { exit } = await server.attach(
    ["--take-over", "a"],
    (shown) => shown.includes("hi!") ? "q\x1d\r" : shown.includes("hands back") ? "hi!" : undefined,
  );
  assertEquals([exit, keys, isOver], [{ kind: "exited", code: 0 }, "hi!q", true]);
});

Deno.test("a refused take-over is reported on the restored terminal", async () => {
  const problem = { detail: "Cannot take over: somebody has", suggestion: "Wait" };
  await using server = await fakeServer((_, path) =>
    path.endsWith("/keys") ? Response.json(problem, { status: 409 }) : new Response(SCREEN)
  );
  const { exit, output } = await server.attach(["--take-over", "a"]);
  assertEquals(exit, { kind: "exited", code: 2 });
  const told = "\x1b[?1049lclaude-print: Cannot take over: somebody has\r\n";
  assert(output.includes(told), output);
});

Deno.test("attach ends with the conversation", async () => {
  let looks = 0;
  await using server = await fakeServer(
    () => ++looks < 2 ? new Response(SCREEN) : NOT_FOUND(),
    () => looks < 2 ? [toldOf("a")] : [],
  );
  const { exit, output } = await server.attach(["a"]);
  assertEquals(exit, { kind: "exited", code: 0 });
  assert(output.endsWith("\x1b[?1049lThe conversation is over\r\n"), output);
});
