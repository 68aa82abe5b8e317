import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { readCassette } from "../../cassette/read_cassette.ts";
import { replayCassette } from "../../../src/cassette/replay/replay_cassette.ts";
import { run } from "../../../src/library/mod.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../stand_in.ts";
import { STAND_IN_VERSIONS } from "../stand_in_versions.ts";

const ANSWERED = ["/logout", "/logout now\nplease", "/export /etc/x", "/bg", "/upgrade", "/exit"];
const REFUSED = ["/insights", "/code-review ultra"];
/**
 * Text in print mode since 2.1.332, which has a way in for it, and a word to quit by. Of a command that there is not, a
 * headless Claude Code says so before; the stand-in is none.
 */
const WORDS = ["/", "/ hi", "/unknown x", "/a:b", "/mcp__s__p"];
const QUIT = "exit";

for (const version of STAND_IN_VERSIONS) {
  Deno.test(`${version}: no child is started for what it would carry out by itself`, async () => {
    await using claude = await StandIn.set({ version });
    await Deno.mkdir(`${claude.home.project}/.claude/commands`, { recursive: true });
    await Deno.writeTextFile(`${claude.home.project}/.claude/commands/keybindings.md`, "Do it");
    const verbatim = version === "2.1.332" ? [...WORDS, QUIT] : [];
    const sentWell = [...verbatim, "/init now"];
    const words = [...WORDS, QUIT];
    const prompts = [...ANSWERED, ...REFUSED, ...words, "/keybindings", "/init now"];
    const { code, stdout, stderr } = await claude.print(["--jsonl"], {
      stdin: prompts.map((prompt) => JSON.stringify(prompt)).join("\n"),
      // A list has an output of its own: what every single run must print does not hold.
      killed: true,
    });
    assertEquals(await leftovers(claude.home), []);
    const lines = stdout.trimEnd().split("\n").map((line) => JSON.parse(line));
    assertEquals(lines.map(({ input }) => input), prompts);
    for (const { input, exit_code, result } of lines) {
      const [word] = input.split(" ");
      if (ANSWERED.includes(input)) {
        assertEquals([exit_code, result.is_error, result.num_turns], [0, false, 0], input);
        assertEquals(result.result, `${word} isn't available in this environment.`);
      } else if (sentWell.includes(input)) {
        assertEquals(exit_code, 0, input);
      } else {
        assertEquals([exit_code, result.subtype], [2, "internal_error"], input);
        assertStringIncludes(stderr, word);
      }
    }
    assertEquals([code, lines.at(-1)?.exit_code], [2, 0]);
    const sent = (await claude.journal("prompt")).map(({ text }) => text);
    assertEquals([(await claude.journal("start")).length, sent], [sentWell.length, sentWell]);
    await Deno.remove(`${claude.home.project}/.claude`, { recursive: true });
  });
}

Deno.test("an answer without a child has the frames of one, and no recording", async () => {
  await using claude = await StandIn.set();
  const record = `${claude.home.path}/recording`;
  const { code, frames, stderr } = await claude.printHere(
    ["--output-format", "stream-json", "--verbose", "--record", record, "/logout"],
    { warns: true },
  );
  assertEquals(code, 0);
  assertEquals(frames.map(({ type }) => type), ["system", "assistant", "result"]);
  assertStringIncludes(stderr, "There is no recording");
  assertEquals(await leftovers(claude.home), []);
  assertEquals(await claude.journal("start"), []);
});

Deno.test("slash commands are judged in a library's run as well", async () => {
  await using claude = await StandIn.set();
  const options = {
    args: ["--claude-binary", claude.binary],
    env: { ...claude.home.env },
    cwd: claude.home.project,
  };
  const { text, exitCode, frame } = await run("/logout", options).result;
  assertEquals([text, exitCode], ["/logout isn't available in this environment.", 0]);
  assertEquals(frame.num_turns, 0);
  const refused = await run("/insights", options).result.then(() => undefined, (error) => error);
  assert(refused instanceof Error);
  assertStringIncludes(refused.message, "the transcripts of all your sessions");
  assertEquals(await claude.journal("start"), []);
});

/** A command that Claude Code does not know after all. */
async function printUnknown(): Promise<void> {
  await using claude = await StandIn.set();
  await Deno.mkdir(`${claude.home.config}/commands`);
  await Deno.writeTextFile(`${claude.home.config}/commands/mine.md`, "Do $ARGUMENTS");
  for (const inject of ["stdin", "paste"]) {
    const { code, stderr } = await claude.printHere(["--inject", inject, "/mine x"]);
    assertEquals(code, 2);
    assertStringIncludes(stderr, 'Claude Code made no prompt of "/mine"');
    assertStringIncludes(stderr, "Unknown command: /mine");
  }
}

/** A Claude Code that opens no rendezvous socket. */
async function printWithoutSocket(): Promise<void> {
  await using claude = await StandIn.set({ version: "2.1.332", rendezvous: false });
  const { code, stderr } = await claude.printHere(["/ hi"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "Claude Code opened no rendezvous socket");
  assertEquals(await claude.journal("prompt"), []);
}

Deno.test("a command that Claude Code does not know, and a socket that it does not open, end the run", async () => {
  await Promise.all([printUnknown(), printWithoutSocket()]);
});

Deno.test("a prompt for the rendezvous socket waits until no dialog of the start is in its way", async () => {
  await using claude = await StandIn.set({ dialogs: [{ show: "trust_no" }] });
  const record = `${claude.home.path}/recording`;
  const { code } = await claude.printHere(["--record", record, "/ hi"], { warns: true });
  assertEquals(code, 0);
  assertEquals((await claude.journal("prompt")).map(({ text }) => text), ["/ hi"]);
  assertEquals(replayCassette(readCassette(record)).differences, []);
  const [start] = await claude.journal("start");
  assertEquals(start?.["terminals"], [true, true, true]);
});

Deno.test("a private folder too deep for a socket is told of before the child is started", async () => {
  await using claude = await StandIn.set();
  const deep = `${claude.home.path}/${"deep".repeat(20)}`;
  await Deno.mkdir(deep);
  const { code, stderr } = await claude.printHere(["/ hi"], { env: { TMPDIR: deep } });
  assertEquals(code, 2);
  assertStringIncludes(stderr, "longer than a socket's may be");
  assertEquals(await claude.journal("start"), []);
  assertEquals([...Deno.readDirSync(deep)], []);
});
