import { assertEquals, assertStringIncludes } from "@std/assert";
import { replayCassette } from "../../../src/recording/cassette/replay_cassette.ts";
import { readCassette } from "../../recording/cassette/recorded_runs.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../stand_in.ts";
import { STREAM_FORMAT } from "../../caller_lines.ts";
import { writeFiles } from "../../write_files.ts";

const ANSWERED = ["/logout", "/logout now\nplease", "/export /etc/x", "/bg", "/upgrade", "/exit"];
const REFUSED = ["/insights", "/code-review ultra", "/keybindings"];
/** Text of a prompt, which the rendezvous socket delivers. */
const SENT = ["/", "/ hi", "/unknown x", "/a:b", "/mcp__s__p", "exit", "/init now"];

Deno.test("no child starts for a command that cannot be sent", async () => {
  await using claude = await StandIn.set();
  await writeFiles(claude.home.project, { ".claude/commands/keybindings.md": "Do it" });
  const prompts = [...ANSWERED, ...REFUSED, ...SENT];
  const { code, stdout, stderr } = await claude.print(["--jsonl"], {
    stdin: prompts.map((prompt) => JSON.stringify(prompt)).join("\n"),
    killed: true,
  });
  assertEquals([code, await leftovers(claude.home)], [2, []]);
  const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
  assertEquals(lines.map(({ input }) => input), prompts);
  for (const { input, exit_code, result } of lines) {
    const [word] = input.split(" ");
    if (ANSWERED.includes(input)) {
      assertEquals([exit_code, result.is_error, result.num_turns], [0, false, 0], input);
      assertEquals(result.result, `${word} isn't available in this environment.`);
    } else if (SENT.includes(input)) {
      assertEquals(exit_code, 0, input);
    } else {
      assertEquals([exit_code, result.subtype], [2, "internal_error"], input);
      assertStringIncludes(stderr, word);
    }
  }
  const sent = (await claude.journal("prompt")).map(({ text }) => text);
  assertEquals([(await claude.journal("start")).length, sent], [SENT.length, SENT]);
});

Deno.test("an answer without a child has frames but no recording", async () => {
  await using claude = await StandIn.set();
  const record = `${claude.home.path}/recording`;
  const { code, frames, stderr } = await claude.printInProcess(
    [...STREAM_FORMAT, "--record", record, "/logout"],
    { warns: true },
  );
  assertEquals(code, 0);
  assertEquals(frames.map(({ type }) => type), ["system", "assistant", "result"]);
  assertStringIncludes(stderr, "There is no recording");
  assertEquals(await claude.journal("start"), []);
});

Deno.test("a command unknown to Claude Code fails the run", async () => {
  await using claude = await StandIn.set();
  await writeFiles(claude.home.config, { "commands/mine.md": "Do $ARGUMENTS" });
  for (const inject of ["stdin", "paste"]) {
    const { code, stderr } = await claude.printInProcess(["--inject", inject, "/mine x"]);
    assertEquals(code, 2);
    assertStringIncludes(stderr, 'Claude Code made no prompt of "/mine"');
    assertStringIncludes(stderr, "Unknown command: /mine");
  }
});

Deno.test("the socket delivers a prompt after the start dialogs", async () => {
  await using claude = await StandIn.set({ dialogs: [{ show: "trust_no" }] });
  const record = `${claude.home.path}/recording`;
  const { code } = await claude.printInProcess(["--record", record, "/ hi"], { warns: true });
  assertEquals(code, 0);
  assertEquals((await claude.journal("prompt")).map(({ text }) => text), ["/ hi"]);
  assertEquals(replayCassette(readCassette(record)).differences, []);
  const [start] = await claude.journal("start");
  assertEquals(start?.["terminals"], [true, true, true]);
});

Deno.test("a socket that cannot be had fails the run", async () => {
  await using closed = await StandIn.set({ rendezvous: false });
  const unopened = await closed.printInProcess(["/ hi"]);
  assertEquals(unopened.code, 2);
  assertStringIncludes(unopened.stderr, "Claude Code opened no rendezvous socket");
  assertEquals(await closed.journal("prompt"), []);
  await using claude = await StandIn.set();
  const deep = `${claude.home.path}/${"deep".repeat(20)}`;
  await Deno.mkdir(deep);
  const { code, stderr } = await claude.printInProcess(["/ hi"], { env: { TMPDIR: deep } });
  assertEquals(code, 2);
  assertStringIncludes(stderr, "longer than a socket's may be");
  assertEquals([await claude.journal("start"), [...Deno.readDirSync(deep)]], [[], []]);
});
