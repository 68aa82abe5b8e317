import { assertEquals } from "@std/assert";
import {
  advanceMessages,
  type AgentMessage,
  type TimedFrame,
} from "../../../src/server/http/agent_messages.ts";
import type { AnyFrame } from "../../../src/claude/wire/any_frame.ts";
import type { ContentBlock } from "../../../src/claude/wire/message_frames.ts";

const TIME = "2026-01-02T03:04:05.000Z";
const SESSION = { session_id: "s" };

const frame = (one: AnyFrame): TimedFrame => ({ frame: one, time: TIME });
const sent = (content: string | readonly ContentBlock[]) =>
  frame({
    type: "user",
    message: { role: "user", content },
    parent_tool_use_id: null,
    isReplay: true,
    ...SESSION,
  });
const said = (block: ContentBlock, parent: string | null = null) =>
  frame({
    type: "assistant",
    message: { content: [block] },
    parent_tool_use_id: parent,
    ...SESSION,
  });
const came = (id: string, is_error = false) =>
  frame({
    type: "user",
    message: { role: "user", content: [{ type: "tool_result", tool_use_id: id, is_error }] },
    parent_tool_use_id: null,
    ...SESSION,
  });
const over = (more: Readonly<Record<string, unknown>> = {}) =>
  frame({ type: "result", subtype: "success", is_error: false, num_turns: 1, ...SESSION, ...more });
const text = (words: string): ContentBlock => ({ type: "text", text: words });
const tool = (id: string): ContentBlock => ({ type: "tool_use", id, name: "Bash", input: {} });

/** What has become of the messages, and the ids that were told as changed, news by news. */
function play(news: readonly TimedFrame[]) {
  let messages: readonly AgentMessage[] = [];
  const changed: (readonly number[])[] = [];
  for (const each of news) {
    const step = advanceMessages(messages, each);
    changed.push(step.changed.map(({ id }) => id));
    messages = step.messages;
  }
  return { messages, changed };
}

Deno.test("a turn is one message with tools and ending", () => {
  const { messages, changed } = play([
    sent("Count."),
    frame({ type: "system", subtype: "init", ...SESSION }),
    said({ type: "thinking", thinking: "Hm." }),
    said(text("Let me see.")),
    said(tool("a")),
    came("a"),
    said(text("There are 3.")),
    over({ total_cost_usd: 0.5, duration_ms: 7, usage: { input_tokens: 1 } }),
  ]);
  assertEquals(changed, [[0], [], [], [1], [1], [1], [1], [1]]);
  assertEquals(messages, [
    { id: 0, role: "user", content: "Count.", time: TIME },
    {
      id: 1,
      role: "agent",
      content: "Let me see.\n\nThere are 3.",
      time: TIME,
      claude_print: {
        session_id: "s",
        tools: [{ id: "a", name: "Bash", input: {}, status: "done" }],
        turn: {
          subtype: "success",
          is_error: false,
          num_turns: 1,
          duration_ms: 7,
          total_cost_usd: 0.5,
          usage: { input_tokens: 1 },
        },
      },
    },
  ]);
});

Deno.test("a turn that failed early says why", () => {
  const { messages } = play([
    sent("One."),
    over({ subtype: "error_timeout", is_error: true, errors: ["It took too long", "Sorry"] }),
    sent("Two."),
    over({ result: "2" }),
    over({ result: "again" }),
  ]);
  assertEquals(messages.map(({ id, role, content }) => [id, role, content]), [
    [0, "user", "One."],
    [1, "agent", "It took too long\nSorry"],
    [2, "user", "Two."],
    [3, "agent", "2"],
    [4, "agent", "again"],
  ]);
  assertEquals(messages[1]?.claude_print?.turn?.subtype, "error_timeout");
});

Deno.test("a late tool result is noted at its call", () => {
  const { messages, changed } = play([
    said(tool("a")),
    said(tool("b")),
    sent("Wait."),
    came("a", true),
    came("unknown"),
  ]);
  assertEquals(changed.at(-2), [0]);
  assertEquals(changed.at(-1), []);
  assertEquals(messages[0]?.claude_print?.tools?.map(({ status }) => status), [
    "failed",
    "running",
  ]);
});

Deno.test("sent blocks are shown as text", () => {
  const image = { type: "image", source: {} };
  const { messages } = play([
    sent([text("a"), image, text("b")]),
    sent("<local-command-stdout>x</local-command-stdout>"),
  ]);
  assertEquals(messages.map(({ content }) => content), ["a\nb"]);
});

Deno.test("a subagent's words are no message", () => {
  assertEquals(play([said(text("inner"), "call")]).messages, []);
});

Deno.test("frames that are not as they should be say nothing", () => {
  const odd: readonly AnyFrame[] = [
    { type: "assistant" },
    { type: "assistant", message: null },
    { type: "assistant", message: { content: "text" } },
    { type: "assistant", message: { content: [null, 7, { type: "text" }, { type: "tool_use" }] } },
    { type: "user", message: { content: [{ type: "tool_result" }] } },
    { type: "result2" },
  ];
  assertEquals(play(odd.map(frame)).messages, []);
});
