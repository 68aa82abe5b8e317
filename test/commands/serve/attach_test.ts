import { assert, assertEquals, assertMatch } from "@std/assert";
import { CLAUDE_PRINT } from "../../claude_print.ts";
import { runInTerminal } from "../../standin/terminal_run.ts";
import { fakeServer, toldOf } from "./fake_server.ts";

const SIZE = { rows: 5, cols: 40 };
const SCREEN = "one\ntwo\x1b[31m\nthree\nfour\n❯\u{a0}five   \n\n";

Deno.test("attach without a terminal prints the screen once, and takes nothing over", async () => {
  await using server = await fakeServer((_, path) =>
    path === "/v1/conversations"
      ? Response.json({ conversations: [toldOf("a")] })
      : path === "/v1/conversations/a/screen"
      ? new Response(SCREEN)
      : Response.json({ detail: "Cannot do that" }, { status: 409 })
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

Deno.test("attach shows what fits of the screen, leaves the terminal as it was, and types nothing", async () => {
  const asked: string[] = [];
  await using server = await fakeServer((request, path) => {
    asked.push(`${request.method} ${path}`);
    return path === "/v1/conversations"
      ? Response.json({ conversations: [toldOf("a")] })
      : new Response(SCREEN);
  });
  const { exit, output } = await runInTerminal([...CLAUDE_PRINT, "attach", "a"], {
    size: SIZE,
    cwd: "/",
    env: server.env,
    type: (shown) => shown.includes("q leaves") ? "xq" : undefined,
  });
  assertEquals(exit, { kind: "exited", code: 0 });
  assert(output.startsWith("\x1b[?1049h"));
  assert(output.endsWith("\x1b[?1049l"));
  const rows = ["two<U+001B>[31m", "three", "four", "❯ five", ""];
  assert(output.replaceAll("\r", "").includes(rows.join("\n\x1b[K")), output);
  assert(!output.includes("one"), "there is room for four rows");
  assert(asked.every((line) => line.startsWith("GET ")), asked.join());
});

Deno.test("attach --take-over hands on what is typed, and Ctrl-] hands the conversation back", async () => {
  let keys = "";
  let isOver = false;
  await using server = await fakeServer(async (request, path) => {
    if (path === "/v1/conversations") return Response.json({ conversations: [toldOf("a")] });
    if (path !== "/v1/conversations/a/keys") return new Response(SCREEN + keys);
    for await (const bytes of request.body ?? []) keys += new TextDecoder().decode(bytes);
    isOver = true;
    return new Response(null, { status: 204 });
  });
  const { exit } = await runInTerminal([...CLAUDE_PRINT, "attach", "--take-over", "a"], {
    size: SIZE,
    cwd: "/",
    env: server.env,
    type: (shown) =>
      shown.includes("hi!") ? "q\x1d\r" : shown.includes("hands back") ? "hi!" : undefined,
  });
  assertEquals([exit, keys, isOver], [{ kind: "exited", code: 0 }, "hi!q", true]);
});

Deno.test("attach says why the conversation cannot be taken over, on the terminal as it was", async () => {
  await using server = await fakeServer((_, path) =>
    path === "/v1/conversations"
      ? Response.json({ conversations: [toldOf("a")] })
      : path.endsWith("/keys")
      ? Response.json({ detail: "Cannot take over: somebody has", suggestion: "Wait" }, {
        status: 409,
      })
      : new Response(SCREEN)
  );
  const { exit, output } = await runInTerminal([...CLAUDE_PRINT, "attach", "--take-over", "a"], {
    size: SIZE,
    cwd: "/",
    env: server.env,
  });
  assertEquals(exit, { kind: "exited", code: 2 });
  const told = "\x1b[?1049lclaude-print: Cannot take over: somebody has\r\n";
  assert(output.includes(told), output);
});

Deno.test("attach ends with the conversation, and says so", async () => {
  let looks = 0;
  await using server = await fakeServer((_, path) =>
    path === "/v1/conversations"
      ? Response.json({ conversations: looks < 2 ? [toldOf("a")] : [] })
      : ++looks < 2
      ? new Response(SCREEN)
      : Response.json({ detail: "Cannot find the conversation" }, { status: 404 })
  );
  const { exit, output } = await runInTerminal([...CLAUDE_PRINT, "attach", "a"], {
    size: SIZE,
    cwd: "/",
    env: server.env,
  });
  assertEquals(exit, { kind: "exited", code: 0 });
  assert(output.endsWith("\x1b[?1049lThe conversation is over\r\n"), output);
});
