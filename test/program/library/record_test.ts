import { assertEquals, assertRejects } from "@std/assert";
import { framesOn } from "../../../src/recording/cassette/cassette_format.ts";
import { readCassette } from "../../recording/cassette/recorded_runs.ts";
import {
  type Conversation,
  type Frame,
  record,
  replay,
  RunError,
} from "../../../src/library/mod.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../stand_in.ts";
import { userMessage } from "../../caller_lines.ts";
import { killAtPrompt } from "./kill_at_prompt.ts";

const ECHO = { turns: [[{ text: "You said {prompt}, {turn}" }]] };

/** `record()` with a Claude Code and a home that exist for the test. */
function recordInProcess(claude: StandIn, folder: string): Conversation {
  return record(folder, {
    cwd: claude.home.project,
    env: claude.home.env,
    args: ["--claude-binary", claude.binary],
  });
}

/** What was said in a recorded conversation. */
function saidIn(folder: string): readonly unknown[] {
  return readCassette(folder).tape.flatMap((entry) =>
    entry.dir === "write" ? [JSON.parse(entry.data)] : []
  );
}

const user = (content: unknown) => userMessage(content, { parent_tool_use_id: null });

Deno.test("record() records conversations of several turns, several at once", async () => {
  await using claude = await StandIn.set(ECHO);
  await Promise.all(["one", "two"].map(async (name) => {
    const conversation = recordInProcess(claude, name);
    assertEquals((await conversation.send(name).result).text, `You said ${name}, 1`);
    const blocks = [{ type: "text", text: `${name} again` }];
    await conversation.send(blocks, { priority: "later" }).result;
    assertEquals(await conversation.close(), { exitCode: 0, warnings: [] });
    const given = await Array.fromAsync(conversation);
    const folder = `${claude.home.project}/${name}`;
    const { frames, differences } = await replay(folder);
    assertEquals([frames.map(({ frame }) => frame), differences], [given, []]);
    assertEquals(saidIn(folder), [user(name), { ...user(blocks), priority: "later" }]);
  }));
  const again = recordInProcess(claude, "one");
  await assertRejects(() => again.send("three").result, RunError, "Cannot record in ");
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("record() has an interrupt and its answer on the tape", async () => {
  await using claude = await StandIn.set({
    hang: "stream",
    turns: [[{ text: "Half an answer and its end" }]],
  });
  await using conversation = recordInProcess(claude, "stopped");
  const first = conversation.send("hello");
  const isInit = ({ type, subtype }: Frame) => type === "system" && subtype === "init";
  for await (const frame of conversation) if (isInit(frame)) break;
  await conversation.interrupt();
  assertEquals((await first.result).frame.subtype, "error_during_execution");
  await conversation.close();
  const folder = `${claude.home.project}/stopped`;
  const [, interrupt] = saidIn(folder) as { request: unknown; request_id: string }[];
  assertEquals(interrupt?.request, { subtype: "interrupt" });
  const answer = framesOn(readCassette(folder).tape)
    .map(({ frame }) => frame).find(({ type }) => type === "control_response");
  assertEquals(Object(answer?.["response"]).request_id, interrupt?.request_id);
  assertEquals((await replay(folder)).differences, []);
});

Deno.test("each child has a cassette of its own", async () => {
  await using claude = await StandIn.set({ ...ECHO, sabotage: killAtPrompt(2) });
  const conversation = recordInProcess(claude, "gone");
  for (const prompt of ["one", "two", "three"]) await conversation.send(prompt).result;
  await conversation.close();
  const folder = `${claude.home.project}/gone`;
  assertEquals(saidIn(folder), [user("one"), user("two")]);
  assertEquals(saidIn(`${folder}/2`), [user("three")]);
  const [first, second] = [await replay(folder), await replay(`${folder}/2`)];
  assertEquals([first.differences, second.differences], [[], []]);
  assertEquals([first.result?.subtype, second.result?.subtype], ["internal_error", "success"]);
  assertEquals([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
    ...["2", "child.cast", "meta.json", "tape.jsonl"],
  ]);
});
