import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../../standin/stand_in.ts";
import { serve } from "./served.ts";

const ECHO = { turns: [[{ text: "You said {prompt}, {turn}" }]] };

/** The stand-in is about to end for as long as any test may take. */
const LINGERS = { ...ECHO, exitMs: 600_000 };
const JSON_FORMAT = ["--output-format", "json"];
/** What a run leaves is looked at while its Claude Code is still there. */
const AT_ONCE = { killed: true };

Deno.test("a run is over once all that it leaves is there, and its Claude Code ends behind it", async () => {
  await using claude = await StandIn.set(LINGERS);
  await using server = await serve();
  const print = (args: readonly string[]) =>
    claude.print(["--exit-timeout", "60", ...args], { env: server.env, ...AT_ONCE });
  const { code, stdout } = await print([...JSON_FORMAT, "one"]);
  const { session_id, result, total_cost_usd } = JSON.parse(stdout);
  assertEquals([code, result, typeof total_cost_usd], [0, "You said one, 1", "number"]);
  assertEquals(await claude.journal("exit"), []);
  const [[path, lines] = ["", ""], ...others] = claude.transcripts();
  assertEquals([path.endsWith(`/${session_id}.jsonl`), others], [true, []]);
  assertEquals(JSON.parse(lines.trimEnd().split("\n").at(-1) ?? "").type, "cost-state");
  // Its session is nobody's any more.
  const next = await print(["--resume", session_id, "two"]);
  assertEquals([next.code, next.stdout, next.stderr], [0, "You said two, 1\n", ""]);
  assertStringIncludes(claude.transcripts().get(path) ?? "", lines);
  for (const { pid } of await claude.journal("start")) Deno.kill(pid, "SIGKILL");
  server.kill("SIGTERM");
  const { stderr } = await server.ended;
  // Whoever runs the server is told.
  const told = "Claude Code was killed behind its answer by somebody else (SIGKILL)";
  assertEquals(stderr, `claude-print: ${told}\n`.repeat(2));
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("a server that is told to end waits for what has been left to it", async () => {
  await using claude = await StandIn.set({ ...ECHO, exitMs: 300 });
  await using server = await serve();
  const { code } = await claude.print(["hello"], { env: server.env, ...AT_ONCE });
  server.kill("SIGTERM");
  const { code: ended, stderr } = await server.ended;
  assertEquals([code, ended, stderr], [0, 0, ""]);
  assertEquals((await claude.journal("exit")).length, 1);
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("whoever may look at what ends with a Claude Code waits for its end", async () => {
  await using claude = await StandIn.set({ ...ECHO, exitMs: 300 });
  await using server = await serve();
  const { config, project } = claude.home;
  const ends = async (args: readonly string[]) => {
    const before = (await claude.journal("exit")).length;
    const { code } = await claude.print(args, { env: server.env, ...AT_ONCE });
    assertEquals(code, 0, args.join(" "));
    return (await claude.journal("exit")).length - before;
  };
  assertEquals(await ends(["--record", "own", "hello"]), 1);
  const command = { type: "command", command: "true" };
  const hooks = { SessionEnd: [{ hooks: [command] }] };
  assertEquals(await ends(["--settings", JSON.stringify({ hooks }), "hello"]), 1);
  // Nowhere to bring the transcript home to: it is told as at every end.
  await Deno.remove(`${config}/projects`, { recursive: true });
  await Deno.writeTextFile(`${config}/projects`, "");
  const { code, stderr } = await claude.print(["hello"], { env: server.env, ...AT_ONCE });
  assertEquals(code, 0);
  assertStringIncludes(stderr, "Cannot copy the transcript to ");
  assertEquals((await claude.journal("exit")).length, 3);
  await Deno.remove(`${project}/own`, { recursive: true });
});

const FAILS = { failure: { error: "invalid_request", status: 400, message: "No" } };
const MESSAGES = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
const MESSAGE = `${JSON.stringify({ type: "user", message: { role: "user", content: "one" } })}\n`;

Deno.test("a conversation on stdin, and a run that has failed, are over before their Claude Code is", async () => {
  await using claude = await StandIn.set({ ...LINGERS, turns: [[FAILS], [FAILS]] });
  await using server = await serve();
  const { env } = server;
  const told = await claude.print([...JSON_FORMAT, "one"], { env, ...AT_ONCE });
  assertEquals([told.code, JSON.parse(told.stdout).is_error], [1, true]);
  assertMatch(told.stderr, /^claude-print: /u);
  const said = await claude.print(MESSAGES, { env, stdin: MESSAGE, ...AT_ONCE });
  assertEquals(said.code, 1);
  assertEquals(await claude.journal("exit"), []);
  for (const { pid } of await claude.journal("start")) Deno.kill(pid, "SIGKILL");
});
