import { assertEquals, assertRejects } from "@std/assert";
import { holdConversation } from "../../src/library/hold_conversation.ts";
import { openConversation } from "../../src/library/open_conversation.ts";
import type { Frame } from "../../src/library/mod.ts";
import { StoppedError } from "../../src/run/stopped_error.ts";
import { StandIn } from "../standin/stand_in.ts";

Deno.test("a conversation is warm, asks for permissions, takes answers and requests, and shows its terminal", async () => {
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
  const answer = await conversation.ask("set_model", { model: "haiku" });
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

Deno.test("a conversation knows the last 1000 messages that had an id, and sends an earlier one again", async () => {
  const over = Promise.withResolvers<number>();
  await using conversation = openConversation({ hold: () => over.promise });
  const send = (index: number) => conversation.send("go", { uuid: `${index}` });
  const sent = Array.from({ length: 1001 }, (_, index) => send(index));
  assertEquals([1000, 1, 0].map((index) => send(index) === sent[index]), [true, true, false]);
  over.resolve(0);
});

Deno.test("a conversation that is told to end while its turn ends anyway is over with it", async () => {
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
