import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type Frame, RunError } from "../../src/library/mod.ts";
import { leftovers } from "../leftovers.ts";
import { StandIn } from "../standin/stand_in.ts";
import { converseHere } from "./converse_here.ts";

const ECHO = { turns: [[{ text: "You said {prompt}, {turn}" }]] };

const kindOf = ({ type, subtype }: Frame) => type === "system" ? `${subtype}` : type;

/** Kills the Claude Code that takes the prompt of that number. */
function killAt(prompt: number) {
  const count = 'echo >> "$HOME/prompts"; [ $(wc -l < "$HOME/prompts")';
  return { at: "prompt" as const, run: `${count} != ${prompt} ] || kill -9 $CLAUDE` };
}

Deno.test("converse() holds several turns with one Claude Code, and gives the frames of all", async () => {
  await using claude = await StandIn.set(ECHO);
  const conversation = converseHere(claude);
  const first = await conversation.send("one").result;
  assertEquals([first.text, first.exitCode, first.warnings], ["You said one, 1", 0, []]);
  const blocks = [{ type: "text", text: "two" }, { type: "text", text: "three" }];
  const second = conversation.send(blocks, { priority: "later" });
  const end = await conversation.close();
  assertEquals(end, { exitCode: 0, warnings: [] });
  const { text, frame } = await second.result;
  assertEquals(text, "You said two\nthree, 2");
  const frames = await Array.fromAsync(conversation);
  assertEquals(frames.map(kindOf), [
    ...["init", "assistant", "result", "init", "assistant", "result"],
  ]);
  assertEquals(frames.at(-1), frame);
  assertEquals((await claude.journal("start")).length, 1);
  assertEquals(claude.transcripts().size, 1);
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("converse() goes on after a break of its loop, and after a turn that was interrupted", async () => {
  await using claude = await StandIn.set({
    hang: "stream",
    turns: [[{ text: "Half an answer and its end" }]],
  });
  await using conversation = converseHere(claude);
  await conversation.interrupt();
  const first = conversation.send("hello");
  for await (const frame of conversation) if (kindOf(frame) === "init") break;
  await conversation.interrupt();
  const { frame, exitCode } = await first.result;
  assertEquals([frame.subtype, exitCode], ["error_during_execution", 1]);
  const second = conversation.send("again");
  const kinds: string[] = [];
  for await (const frame of conversation) {
    kinds.push(kindOf(frame));
    if (kindOf(frame) === "init") break;
  }
  assert(!kinds.includes("control_response"), "nobody has asked for it on stdin");
  await conversation.interrupt();
  assertEquals((await second.result).frame.subtype, "error_during_execution");
  assertEquals((await claude.journal("start")).length, 1);
});

Deno.test("converse() gives a message that was sent before the result that it has", async () => {
  await using claude = await StandIn.set(ECHO);
  await using conversation = converseHere(claude);
  const uuid = crypto.randomUUID();
  const first = conversation.send("one", { uuid });
  assertEquals(conversation.send("once more", { uuid }), first);
  assertEquals((await first.result).text, "You said one, 1");
  await conversation.close();
  const frames = await Array.fromAsync(conversation);
  const ids = frames.flatMap((frame) =>
    frame.type === "command_lifecycle" ? [frame.command_uuid] : []
  );
  assertEquals(ids, [uuid, uuid, uuid]);
});

Deno.test("converse() tells the turn of a Claude Code that died, and goes on with another one", async () => {
  await using claude = await StandIn.set({ ...ECHO, sabotage: [killAt(2)] });
  await using conversation = converseHere(claude);
  assertEquals((await conversation.send("one").result).exitCode, 0);
  const died = await conversation.send("two").result;
  assertEquals([died.exitCode, died.frame.subtype], [2, "internal_error"]);
  assertStringIncludes(died.problem?.message ?? "", "Claude Code ended before the turn did");
  const third = await conversation.send("three").result;
  assertEquals([third.text, third.exitCode], ["You said three, 1", 0]);
  assertStringIncludes(third.warnings.join(), "Claude Code is gone");
  const [first, second] = await claude.journal("start");
  const id = died.frame.session_id;
  assert(first?.args.includes(`--session-id=${id}`));
  assert(second?.args.includes(`--resume=${id}`));
});
