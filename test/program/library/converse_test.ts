import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { type Frame, RunError } from "../../../src/library/mod.ts";
import { leftovers } from "../../leftovers.ts";
import { StandIn } from "../stand_in.ts";
import { converseWithLibrary } from "./converse_with_library.ts";
import { holdConversation } from "../../../src/library/hold_conversation.ts";
import { openConversation } from "../../../src/library/open_conversation.ts";
import { StoppedError } from "../../../src/run/waits.ts";
import { killAtPrompt } from "./kill_at_prompt.ts";

const ECHO = { turns: [[{ text: "You said {prompt}, {turn}" }]] };

const kindOf = ({ type, subtype }: Frame) => type === "system" ? `${subtype}` : type;

Deno.test("one child holds several turns", async () => {
  await using claude = await StandIn.set(ECHO);
  const conversation = converseWithLibrary(claude);
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

Deno.test("a conversation survives break and interrupt", async () => {
  await using claude = await StandIn.set({
    hang: "stream",
    turns: [[{ text: "Half an answer and its end" }]],
  });
  await using conversation = converseWithLibrary(claude);
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

Deno.test("a repeated message has the first one's result", async () => {
  await using claude = await StandIn.set(ECHO);
  await using conversation = converseWithLibrary(claude);
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

Deno.test("a conversation continues after its child dies", async () => {
  await using claude = await StandIn.set({ ...ECHO, sabotage: killAtPrompt(2) });
  await using conversation = converseWithLibrary(claude);
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

Deno.test("a conversation survives timeouts of turn and start", async () => {
  await using claude = await StandIn.set({ ...ECHO, hang: "prompt" });
  await using slow = converseWithLibrary(claude, { args: ["--timeout", "0.5"] });
  const [late, queued] = [slow.send("one"), slow.send("two", { priority: "later" })];
  assertEquals((await late.result).frame.subtype, "timeout");
  assertEquals((await queued.result).exitCode, 124);
  await using deaf = await StandIn.set({ ...ECHO, rendezvous: false, hang: "start" });
  await using conversation = converseWithLibrary(deaf, { args: ["--start-timeout", "0.3"] });
  for (const text of ["one", "two"]) {
    const { frame, problem } = await conversation.send(text).result;
    assertEquals(frame.subtype, "start_timeout");
    assertStringIncludes(problem?.message ?? "", "0.3 s");
  }
  assertEquals((await deaf.journal("start")).length, 2);
});

Deno.test("the end of its scope ends a conversation", async () => {
  await using claude = await StandIn.set({ ...ECHO, hang: "prompt" });
  const conversation = converseWithLibrary(claude);
  const first = conversation.send("one");
  const second = conversation.send("two", { priority: "later" });
  await claude.untilNoted("prompt");
  await conversation[Symbol.asyncDispose]();
  assertEquals(await leftovers(claude.home), []);
  const { exitCode, frame } = await first.result;
  assertEquals([exitCode, frame.subtype], [141, "interrupted"]);
  await assertRejects(() => second.result, RunError, "The message was not answered");
  await assertRejects(() => conversation.send("three").result, RunError, "it has been ended");
  await conversation[Symbol.asyncDispose]();
  await conversation.interrupt();
  await conversation.close();
});

Deno.test("an unused conversation starts nothing", async () => {
  await using claude = await StandIn.set();
  {
    await using _unused = converseWithLibrary(claude);
  }
  const closed = converseWithLibrary(claude);
  assertEquals(await closed.close(), { exitCode: 0, warnings: [] });
  await assertRejects(() => closed.send("x").result, RunError, "it has been closed");
  assertEquals(await Array.fromAsync(closed), []);
  const controller = new AbortController();
  const aborted = converseWithLibrary(claude, { signal: controller.signal });
  const reason = new Error("not today");
  const sent = aborted.send("hello");
  controller.abort(reason);
  assertEquals(await assertRejects(() => sent.result), reason);
  assertEquals(await assertRejects(() => aborted.close()), reason);
  const failed = await assertRejects(() => aborted.send("hello").result, RunError, "not today");
  assertEquals(failed.cause, reason);
  assertEquals(await claude.journal("start"), []);
});

Deno.test("an aborted conversation keeps the text so far", async () => {
  await using claude = await StandIn.set({
    hang: "stream",
    turns: [[{ text: "Half an answer and its end" }]],
    sabotage: [{ at: "stream", run: "sleep 0.2" }],
  });
  const controller = new AbortController();
  const conversation = converseWithLibrary(claude, { signal: controller.signal });
  const { result } = conversation.send("hello");
  await claude.untilNoted("sabotage");
  controller.abort();
  const { text, exitCode, frame } = await result;
  assertEquals([text, exitCode, frame.subtype], ["Half an answe", 130, "interrupted"]);
  assertEquals((await conversation.close()).exitCode, 130);
  assertEquals(await leftovers(claude.home), []);
});

Deno.test("impossible messages and flags are refused", async () => {
  await using claude = await StandIn.set(ECHO);
  {
    await using conversation = converseWithLibrary(claude);
    const cases = [["", "there is no prompt"], ["a\0b", "a NUL character"]] as const;
    for (const [text, words] of cases) {
      await assertRejects(() => conversation.send(text).result, RunError, words);
    }
    const image = [{ type: "image", source: {} }];
    const { suggestion } = await assertRejects(
      () => conversation.send(image).result,
      RunError,
      "passes images on as base64 data, not as undefined",
    );
    assertEquals(suggestion, "Send text, or the path of a file");
    assertEquals(await claude.journal("start"), []);
  }
  for (const args of [["--jsonl"], ["--one-session"], ["--inject", "paste"], ["a prompt"]]) {
    const conversation = converseWithLibrary(claude, { args });
    const { result } = conversation.send("hello");
    await assertRejects(() => result, RunError);
    await assertRejects(() => Array.fromAsync(conversation), RunError);
    await assertRejects(() => conversation.close(), RunError);
    await assertRejects(() => conversation.send("x").result, RunError, "which has failed");
  }
  const nowhere = converseWithLibrary({ ...claude, binary: `${claude.home.path}/nowhere` });
  const error = await assertRejects(() => nowhere.send("hello").result, RunError);
  assertStringIncludes(error.message, "Cannot start claude");
  assert(error.suggestion !== undefined);
});

Deno.test("a warm conversation asks, answers and shows its terminal", async () => {
  const tool = { name: "Edit", input: { file_path: "a" }, result: "edited", asks: true };
  await using claude = await StandIn.set({
    turns: [[{ text: "I ask.", tools: [tool] }, { text: "You said {prompt}" }]],
  });
  const ready = Promise.withResolvers<void>();
  let shown = "";
  await using conversation = openConversation({
    cwd: claude.home.project,
    env: claude.home.env,
    args: ["--claude-binary", claude.binary],
    warm: true,
    asks: true,
    onReady: ready.resolve,
    onTerminal: (terminal) => {
      shown = "";
      void ready.promise.then(() => {
        for (const chunk of terminal.chunks()) shown += new TextDecoder().decode(chunk);
      });
    },
  });
  await ready.promise;
  const answer = await conversation.sendRequest("set_model", { model: "haiku" });
  assertEquals(answer?.subtype, "success");
  assertEquals(shown.length > 0, true);
  const outcomes: unknown[] = [];
  for (const behavior of ["allow", "deny"]) {
    const { result } = conversation.send("go");
    for await (const frame of conversation as AsyncIterable<Frame>) {
      if (frame.type === "control_request") {
        assertEquals(frame.request.subtype, "can_use_tool");
        conversation.answer({ id: frame.request_id, response: { behavior, message: "no" } });
      }
      if (frame.type === "result") break;
    }
    outcomes.push((await result).frame.permission_denials?.length);
  }
  assertEquals(outcomes, [0, 1]);
});

Deno.test("a conversation remembers the last 1000 ids", async () => {
  const over = Promise.withResolvers<number>();
  await using conversation = openConversation({ hold: () => over.promise });
  const send = (index: number) => conversation.send("go", { uuid: `${index}` });
  const sent = Array.from({ length: 1001 }, (_, index) => send(index));
  assertEquals([1000, 1, 0].map((index) => send(index) === sent[index]), [true, true, false]);
  over.resolve(0);
});

Deno.test("an end during the turn's end is one end", async () => {
  await using claude = await StandIn.set({ turns: [[{ text: "You said {prompt}" }]] });
  const gone = new AbortController();
  const ended = Promise.withResolvers<number>();
  await using conversation = openConversation({
    cwd: claude.home.project,
    env: claude.home.env,
    args: ["--claude-binary", claude.binary],
    signal: gone.signal,
    hold: async (request, options) => {
      let child: Parameters<NonNullable<typeof options.onChild>>[0] | undefined;
      const holding = holdConversation(request, {
        ...options,
        onChild: (started) => child = started,
        onInput: (input) => {
          if (input.type !== "hook" || input.event !== "Stop") return;
          // It tells of its turn's end, and is not idle before the signal is heard.
          child?.signal("SIGSTOP");
          gone.abort();
        },
      });
      holding.then(ended.resolve, ended.reject);
      return await holding;
    },
  });
  assertEquals((await conversation.send("go").result).text, "You said go");
  await assertRejects(() => ended.promise, StoppedError, "interrupted by SIGINT");
});
