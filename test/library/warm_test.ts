import { assertEquals, assertStringIncludes } from "@std/assert";
import { leftovers } from "../leftovers.ts";
import { StandIn } from "../standin/stand_in.ts";
import { converseHere } from "./converse_here.ts";

const ECHO = { turns: [[{ text: "You said {prompt}, {turn}" }]] };

const starts = async (claude: StandIn) => (await claude.journal("start")).length;

Deno.test("a warm conversation starts Claude Code before its first message", async () => {
  await using claude = await StandIn.set(ECHO);
  const conversation = converseHere(claude, { warm: true });
  await claude.untilNoted("start");
  const { text, warnings } = await conversation.send("one").result;
  assertEquals([text, warnings], ["You said one, 1", []]);
  assertEquals((await conversation.send("two").result).text, "You said two, 2");
  assertEquals(await conversation.close(), { exitCode: 0, warnings: [] });
  assertEquals(await starts(claude), 1);
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("what a warm Claude Code has read and that is another by its first message, a new one reads again", async () => {
  await using claude = await StandIn.set(ECHO);
  await using conversation = converseHere(claude, { warm: true });
  await claude.untilNoted("start");
  await Deno.writeTextFile(`${claude.home.project}/CLAUDE.md`, "Use spaces.\n");
  const { text, warnings } = await conversation.send("one").result;
  assertEquals([text, warnings], ["You said one, 1", []]);
  assertEquals(await starts(claude), 2);
});

Deno.test("a warm conversation in which nothing is said ends, and one whose Claude Code has died goes on", async () => {
  await using claude = await StandIn.set(ECHO);
  const unused = converseHere(claude, { warm: true });
  await claude.untilNoted("start");
  assertEquals(await unused.close(), { exitCode: 0, warnings: [] });
  {
    await using dropped = converseHere(claude, { warm: true });
    await claude.untilNoted("start", 2);
    await Promise.race([dropped[Symbol.asyncIterator]().next(), Promise.resolve()]);
  }
  const killed = converseHere(claude, { warm: true });
  await claude.untilNoted("start", 3);
  Deno.kill((await claude.journal("start"))[2]?.pid ?? 0, "SIGKILL");
  const { text, warnings } = await killed.send("one").result;
  assertEquals(text, "You said one, 1");
  assertStringIncludes(warnings.join(), "Claude Code is gone");
  assertEquals((await killed.close()).exitCode, 0);
  assertEquals(await starts(claude), 4);
  assertEquals(await leftovers(claude.home), []);
});
