import { assertEquals } from "@std/assert";
import {
  advanceState,
  type ConversationChange,
  type ConversationState,
  initialState,
} from "../../../src/server/conversations/conversation_state.ts";
import type { Frame } from "../../../src/claude/wire/frame.ts";
import { parseServerEvents } from "../../../src/server/server_client.ts";

/** What is known after some news, a second after each other. */
function after(...news: readonly ConversationChange[]): ConversationState {
  return news.reduce(
    (state, one, index) => advanceState(state, { at: 1000 * (index + 1), ...one }),
    initialState(0),
  );
}

const frame = (fields: unknown): ConversationChange => ({ kind: "frame", frame: fields as Frame });
const INIT = frame({ type: "system", subtype: "init", session_id: "s", model: "haiku" });
const result = (cost?: number) =>
  frame({
    type: "result",
    session_id: "s",
    ...(cost === undefined ? {} : { total_cost_usd: cost }),
  });
const asks = (request_id: string, tool_name: string, more: object = {}) =>
  frame({
    type: "control_request",
    request_id,
    request: { subtype: "can_use_tool", tool_name, input: {}, ...more },
  });
const told = ({ activity, since }: ConversationState) => [activity.kind, since];

Deno.test("the state of a conversation and its time", () => {
  assertEquals(told(after()), ["starting", 0]);
  assertEquals(told(after({ kind: "ready" })), ["idle", 1000]);
  // A message that comes before Claude Code is there waits for it.
  assertEquals(told(after({ kind: "sent" })), ["starting", 0]);
  assertEquals(told(after({ kind: "sent" }, INIT)), ["working", 2000]);
  assertEquals(told(after({ kind: "ready" }, { kind: "sent" }, INIT)), ["working", 2000]);
  const answered = [{ kind: "sent" }, INIT, result(), { kind: "settled" }] as const;
  assertEquals(told(after(...answered)), ["idle", 4000]);
  assertEquals(told(after(...answered, { kind: "ended", exitCode: 0 })), ["ended", 5000]);
  assertEquals(told(after(...answered, { kind: "failed", error: "x" })), ["failed", 5000]);
  const waiting = after(INIT, asks("1", "Bash"), asks("2", "Edit"));
  assertEquals(told(waiting), ["waiting", 2000]);
  const second = advanceState(waiting, { at: 9000, kind: "answered", requestId: "1" });
  assertEquals([second.since, second.questions.map(({ requestId }) => requestId)], [9000, ["2"]]);
  const cancelled = frame({ type: "control_cancel_request", request_id: "2" });
  assertEquals(told(advanceState(second, { at: 9500, ...cancelled })), ["working", 9500]);
});

Deno.test("the model's last text is kept, at most 2,000 characters", () => {
  const says = (parent_tool_use_id: string | null, ...texts: readonly string[]) => {
    const content = texts.map((text) => ({ type: "text", text }));
    return frame({ type: "assistant", parent_tool_use_id, message: { content } });
  };
  assertEquals(after(INIT).lastMessage, undefined);
  assertEquals(
    after(INIT, says(null, "a", "b"), says("task", "c"), says(null)).lastMessage,
    "a\n\nb",
  );
  assertEquals(after(INIT, says(null, `${"x".repeat(1999)}🙂`)).lastMessage?.at(-1), "\ufffd");
});

Deno.test("a waiting conversation names its question", () => {
  const question = (...news: readonly ConversationChange[]) => {
    const { activity } = after(INIT, ...news);
    return activity.kind === "waiting" ? [activity.question.kind, activity.question.cause] : [];
  };
  assertEquals(question(asks("1", "Bash", { description: "List files" })), [
    "permission",
    "Bash: List files",
  ]);
  assertEquals(question(asks("1", "Bash")), ["permission", "Bash"]);
  const questions = [{ question: "Which?" }, { question: "Why?" }];
  assertEquals(question(asks("1", "AskUserQuestion", { input: { questions } })), [
    "question",
    "AskUserQuestion: Which?",
  ]);
  for (const input of [{}, null, { questions: 1 }, { questions: [null] }]) {
    assertEquals(question(asks("1", "AskUserQuestion", { input }))[0], "question");
  }
  assertEquals(question(asks("1", "ExitPlanMode"))[0], "plan");
  const dialog = { kind: "dialog", about: "a choice" } as const;
  assertEquals(question(dialog), ["dialog", "a choice"]);
  assertEquals(question(dialog, { kind: "dialog", about: undefined }), []);
  assertEquals(question(dialog, asks("1", "ExitPlanMode"))[0], "plan");
});

Deno.test("turns and costs count all children", () => {
  const { turns, costUsd } = after(result(1), result(3), result(), result(2), result(4));
  assertEquals([turns, costUsd], [5, 7]);
  const limits = {
    rate_limits: { five_hour: { used_percentage: 5 } },
    context_window: { size: 1 },
  };
  const state = after(frame({ type: "result", session_id: "t", claude_limits: limits }), result());
  assertEquals([state.sessionId, state.rateLimits, state.context], [
    "s",
    limits.rate_limits,
    limits.context_window,
  ]);
});

/** What comes of a stream in pieces of so many bytes. */
async function eventsIn(text: string, size: number) {
  const bytes = new TextEncoder().encode(text);
  const pieces = Array.from(
    { length: Math.ceil(bytes.length / size) },
    (_, at) => bytes.slice(at * size, (at + 1) * size),
  );
  return await Array.fromAsync(parseServerEvents(ReadableStream.from(pieces)));
}

Deno.test("events are taken from a stream, wherever it is cut", async () => {
  const text = ': hello\n\nid: 1\ndata: {"a":"ü"}\n\nevent: end\r\ndata:x\r\ndata: y\r\n\r\n' +
    "id: 2\n\ndata\n\ndata: cut off";
  const expected = [
    { id: "1", event: "message", data: '{"a":"ü"}' },
    { id: "1", event: "end", data: "x\ny" },
    { id: "2", event: "message", data: "" },
  ];
  for (const size of [1, 2, 3, 7, 1000]) assertEquals(await eventsIn(text, size), expected);
});
