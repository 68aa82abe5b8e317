import { assertEquals } from "@std/assert";
import type { Frame } from "../../src/wire/frame.ts";
import { runTurns, subagentsOf, sumOf } from "../../src/frames/turns/run_turns.ts";
import { startTelling } from "./telling.ts";

/** What a subagent that was over reads when the end of its shell has it at work again. */
const WAKING = {
  type: "user",
  isMeta: true,
  timestamp: "2026-01-01T00:00:10.000Z",
  origin: { kind: "task-notification", producer: "session-task" },
  message: { content: "[SYSTEM NOTIFICATION - NOT USER INPUT]" },
};

/** What a subagent that was over reads when a message has it at work again. */
const COORDINATED = {
  type: "user",
  isMeta: true,
  origin: { kind: "coordinator" },
  message: { content: "The coordinator sent a message" },
};

const SUBAGENT = { agentId: "a1", toolUseId: "t", type: "Explore", description: "Look" };

const VERSION = "2.1.332";

/** A session that has begun, and what is said of it from then on. */
function begin(version = VERSION) {
  const told = startTelling();
  const { frames } = told;
  const pushAll = (...lines: readonly object[]) =>
    told.push(...lines.map((line) => ({ version, ...line })));
  const push = (line: object) => pushAll(line);
  const pushSubagent = (line: object) =>
    told.pushSubagent(SUBAGENT, { version, isSidechain: true, ...line });
  const pushNested = (line: object) =>
    told.pushSubagent({ ...SUBAGENT, agentId: "a2", toolUseId: "t2" }, {
      version,
      isSidechain: true,
      ...line,
    });
  const watchShells = (ids: readonly string[], now: number, startedAt?: readonly number[]) =>
    told.tell({ type: "shells", ids, ...(startedAt === undefined ? {} : { startedAt }) }, now);
  push({ type: "user", uuid: "p", message: { content: "Hi" } });
  told.begin();
  frames.length = 0;
  return {
    ...told,
    push,
    pushAll,
    pushSubagent,
    pushNested,
    watchShells,
    finish: () => told.finish(version),
  };
}

function call(name: string, input: object, id = "t") {
  return {
    type: "assistant",
    timestamp: "2026-01-01T00:00:00.000Z",
    message: { id: `m-${id}`, model: "m", content: [{ type: "tool_use", id, name, input }] },
  };
}

const text = (text: string) => ({
  type: "assistant",
  message: { id: "m", model: "m", content: [{ type: "text", text }] },
});

const result = (toolUseResult: object, options: { id?: string; failed?: boolean } = {}) => ({
  type: "user",
  timestamp: "2026-01-01T00:00:09.000Z",
  toolUseResult,
  message: {
    content: [{
      type: "tool_result",
      tool_use_id: options.id ?? "t",
      is_error: options.failed ?? false,
    }],
  },
});

const notice = (task: string) => ({
  type: "queue-operation",
  operation: "enqueue",
  content:
    `<task-notification>\n<task-id>${task}</task-id>\n<status>completed</status>\n</task-notification>`,
});

const kinds = (frames: readonly Frame[]) =>
  frames.map(({ type, subtype, parent_tool_use_id: parent }) =>
    `${subtype ?? type}${typeof parent === "string" ? " of a subagent" : ""}`
  );

const AGENT_INPUT = { description: "Look", prompt: "Look around", subagent_type: "Explore" };

const WAITING_INPUT = { ...AGENT_INPUT, run_in_background: false };

const DONE = {
  status: "completed",
  agentId: "a1",
  agentType: "Explore",
  content: [{ type: "text", text: "It is fine" }],
  totalTokens: 12,
  totalToolUseCount: 1,
  totalDurationMs: 34,
};

Deno.test("frames: shows what a subagent does while the turn waits for it", () => {
  const { frames, push, pushSubagent } = begin();
  // Its first line may be written before the line of the call.
  pushSubagent({ type: "user", message: { content: "Look around" } });
  assertEquals(frames, []);
  push(call("Agent", WAITING_INPUT));
  pushSubagent(call("Bash", { command: "ls" }, "t2"));
  pushSubagent(result({}, { id: "t2" }));
  pushSubagent(text("It is fine"));
  push(result(DONE));
  // What comes late does not begin it anew.
  pushSubagent(text("More"));
  assertEquals(kinds(frames), [
    "assistant",
    "task_started",
    "user of a subagent",
    "task_progress",
    "assistant of a subagent",
    "user of a subagent",
    "task_updated",
    "task_notification",
    "user",
  ]);
  const progress = frames.find(({ subtype }) => subtype === "task_progress");
  assertEquals(
    [progress?.["description"], progress?.["last_tool_name"], progress?.["usage"]],
    ["Running ls", "Bash", { total_tokens: 0, tool_uses: 1, duration_ms: 0 }],
  );
  const [, started] = frames;
  assertEquals(
    [started?.["task_id"], started?.["subagent_type"], started?.["prompt"]],
    ["a1", "Explore", "Look around"],
  );
  const notification = frames.at(-2);
  assertEquals(notification?.["summary"], "It is fine");
  assertEquals(notification?.["usage"], { total_tokens: 12, tool_uses: 1, duration_ms: 34 });
});

Deno.test("frames: a subagent that is over at once is told before its result, and begins once", () => {
  const { frames, push, pushSubagent, tell } = begin();
  push(call("Agent", WAITING_INPUT));
  push(result(DONE));
  assertEquals(kinds(frames), ["assistant"]);
  pushSubagent({ type: "user", message: { content: "Look around" } });
  assertEquals(kinds(frames), ["assistant"]);
  pushSubagent({ ...text("It is fine"), timestamp: "2026-01-01T00:00:08.000Z" });
  const all = [
    "assistant",
    "task_started",
    "user of a subagent",
    "task_updated",
    "task_notification",
    "user",
  ];
  assertEquals(kinds(frames), all);
  // Nothing waits for lines that do not come.
  push(call("Agent", WAITING_INPUT, "t2"));
  push(result({ ...DONE, agentId: "a2" }, { id: "t2" }));
  tell({ type: "deadline", name: "subagent" });
  pushSubagent({ type: "user", message: { content: "Look around" } });
  const told = frames.filter(({ subtype }) => subtype === "task_started");
  assertEquals(told.map(({ task_id }) => task_id), ["a1", "a2"]);
});

Deno.test("frames: a caller's hooks tell of tasks before transcripts do, and once", () => {
  const { frames, push, pushSubagent, tell } = begin();
  const hook = (event: string, payload: object) =>
    tell({ type: "hook", event, payload: { ...payload }, callback: 0, id: "1" });
  const starts = () => hook("SubagentStart", { agent_id: "a1", agent_type: "Explore" });
  const over = { tool_name: "Agent", tool_use_id: "t", tool_response: DONE };
  // The call that it is about has not been read yet.
  starts();
  assertEquals(frames, []);
  push(call("Agent", WAITING_INPUT));
  const begun = ["assistant", "task_started"];
  assertEquals(kinds(frames), begun);
  const [, started] = frames;
  assertEquals(
    [started?.["task_id"], started?.["tool_use_id"], started?.["description"]],
    ["a1", "t", "Look"],
  );
  starts();
  pushSubagent({ type: "user", message: { content: "Look around" } });
  // What it says until then comes first.
  hook("PostToolUse", over);
  assertEquals(kinds(frames), [...begun, "user of a subagent"]);
  pushSubagent(text("It is fine"));
  hook("PostToolUse", over);
  push(result(DONE));
  assertEquals(
    kinds(frames),
    [...begun, "user of a subagent", "task_updated", "task_notification", "user"],
  );
  assertEquals(frames.at(-2)?.["summary"], "It is fine");
});

Deno.test("frames: what a hook says of a subagent counts for no later call", () => {
  const { frames, push, pushSubagent, tell } = begin();
  const starts = (id: string) =>
    tell({
      type: "hook",
      event: "SubagentStart",
      payload: { agent_id: id, agent_type: "Explore" },
      callback: 0,
    });
  // One that was begun without a call, and one that nothing more is heard of.
  starts("a1");
  pushSubagent({ type: "user", message: { content: "Look around" } });
  push(call("Agent", WAITING_INPUT, "t1"));
  assertEquals(kinds(frames), ["assistant"]);
  push(result({}, { id: "t1" }));
  starts("a2");
  starts("a3");
  push({ type: "system", subtype: "turn_duration" });
  frames.length = 0;
  push(call("Agent", WAITING_INPUT, "t3"));
  assertEquals(kinds(frames), ["assistant"]);
});

Deno.test("frames: the last line of a turn may be read when the next one has begun a subagent", () => {
  const { frames, push, tell } = begin();
  tell({
    type: "hook",
    event: "SubagentStart",
    payload: { agent_id: "a1", agent_type: "Explore" },
    callback: 0,
    ranAt: Date.UTC(2026, 0, 1, 0, 1),
  });
  push({ type: "system", subtype: "turn_duration", timestamp: "2026-01-01T00:00:00.000Z" });
  push(call("Agent", WAITING_INPUT));
  assertEquals(kinds(frames), ["assistant", "task_started"]);
});

Deno.test("frames: which of two calls a hook is about is left to the transcript", () => {
  const { frames, pushAll, pushSubagent, tell } = begin();
  const starts = (id: string, type = "Explore") =>
    tell({
      type: "hook",
      event: "SubagentStart",
      payload: { agent_id: id, agent_type: type },
      callback: 0,
    });
  pushAll(call("Agent", WAITING_INPUT), call("Agent", { ...WAITING_INPUT, prompt: "2" }, "t2"));
  starts("a1");
  starts("a9", "Plan");
  assertEquals(kinds(frames), ["assistant"]);
  pushSubagent({ type: "user", message: { content: "Look around" } });
  const told = frames.filter(({ subtype }) => subtype === "task_started");
  assertEquals(told.map(({ tool_use_id: id }) => id), ["t"]);
});

Deno.test("frames: tells of a subagent's own subagents what becomes of them", () => {
  const { frames, push, pushSubagent, pushNested } = begin();
  push(call("Agent", WAITING_INPUT));
  pushSubagent({ type: "user", message: { content: "Look around" } });
  pushSubagent(call("Agent", { ...WAITING_INPUT, description: "Look closer" }, "t2"));
  pushNested({ type: "user", message: { content: "Look" } });
  pushNested(call("Bash", { command: "ls" }, "t3"));
  pushSubagent(result({ ...DONE, agentId: "a2" }, { id: "t2" }));
  // What is read later than its end begins nothing.
  pushNested(call("Bash", { command: "ls" }, "t4"));
  pushSubagent(text("It is fine"));
  push(result(DONE));
  const told = frames.filter(({ subtype }) => `${subtype}`.startsWith("task_"));
  assertEquals(told.map(({ subtype, task_id: id }) => `${subtype} ${id}`), [
    "task_started a1",
    "task_progress a1",
    "task_started a2",
    "task_progress a2",
    "task_updated a2",
    "task_notification a2",
    "task_updated a1",
    "task_notification a1",
  ]);
  assertEquals(told[1]?.["description"], "Look closer");
  assertEquals(
    [told[2]?.["spawn_depth"], told[2]?.["parent_task_id"]],
    [2, "a1"],
  );
  const spoken = frames.flatMap(({ parent_tool_use_id: parent }) => parent ?? []);
  assertEquals([...new Set(spoken)], ["t"], "what it says is not told");
});

Deno.test("frames: shows what a subagent says in the background, until the end", () => {
  const { ending, finish, frames, push, pushSubagent } = begin();
  push(call("Agent", { ...AGENT_INPUT, run_in_background: true }));
  push(result({ isAsync: true, status: "async_launched", agentId: "a1" }));
  pushSubagent({ type: "user", message: { content: "Look around" } });
  pushSubagent(text("I see"));
  ending();
  pushSubagent(text("I was stopped"));
  finish();
  assertEquals(kinds(frames), [
    "assistant",
    "background_tasks_changed",
    "task_started",
    "user",
    "assistant of a subagent",
    "task_updated",
    "task_notification",
    "background_tasks_changed",
  ]);
  assertEquals(
    frames.findLast(({ subtype }) => subtype === "task_notification")?.["status"],
    "stopped",
  );
});

Deno.test("frames: tells of a shell that the turn waits for long", () => {
  const started = Date.parse("2026-01-01T00:00:00.000Z");
  const { watchShells, frames, push } = begin();
  push(call("Bash", { command: "make", description: "Build" }));
  push(call("Bash", { command: "make test" }, "t2"));
  watchShells(["b1", "b2"], started + 2999);
  assertEquals(kinds(frames), ["assistant", "assistant"]);
  watchShells(["b1", "b2"], started + 3000);
  watchShells(["b1", "b2"], started + 3050);
  push(result({}, { failed: true }));
  push(result({}, { id: "t2" }));
  assertEquals(kinds(frames).slice(2), [
    "task_started",
    "task_started",
    "task_notification",
    "user",
    "task_notification",
    "user",
  ]);
  const tasks = frames.filter(({ subtype }) => `${subtype}`.startsWith("task_"));
  assertEquals(
    tasks.map(({ task_id, description, summary, status }) => [
      task_id,
      description ?? summary,
      status,
    ]),
    [
      ["b1", "Build", undefined],
      ["b2", "make test", undefined],
      ["b1", "Build", "failed"],
      ["b2", "make test", "completed"],
    ],
  );
});

Deno.test("frames: a call that waits is no shell that runs long", () => {
  const called = Date.parse("2026-01-01T00:00:00.000Z");
  const { watchShells, frames, push } = begin();
  push(call("Bash", { command: "make" }));
  push(call("Bash", { command: "make test" }, "t2"));
  watchShells([], called + 3000);
  watchShells(["b1", "b2"], called + 9000, [0, called + 8900]);
  push(result({}));
  assertEquals(kinds(frames).slice(2), ["task_started", "task_notification", "user"]);
  frames.length = 0;
  watchShells(["b2"], called + 11_899, [called + 8900]);
  assertEquals(frames, []);
  watchShells(["b2"], called + 11_900, [called + 8900]);
  assertEquals(frames.map(({ description }) => description), ["make test"]);
});

Deno.test("frames: tells nothing of shells that it cannot tell apart", () => {
  const { watchShells, frames, push } = begin();
  push(call("Bash", { command: "make" }));
  watchShells(["b1", "b2"], Date.parse("2026-01-01T00:01:00.000Z"));
  assertEquals(kinds(frames), ["assistant"]);
});

Deno.test("frames: no task ends before it has begun", () => {
  const { frames, push, pushAll } = begin();
  const notice = {
    type: "queue-operation",
    operation: "enqueue",
    timestamp: "2026-01-01T00:00:10.000Z",
    content:
      "<task-notification><task-id>b1</task-id><status>completed</status></task-notification>",
  };
  const make = call("Bash", { command: "make", run_in_background: true });
  const started = result({ backgroundTaskId: "b1" });
  const expected = [
    ...["assistant", "background_tasks_changed", "task_started", "user"],
    ...["task_updated", "task_notification", "background_tasks_changed"],
  ];
  // It is written at once, what came before it 0.1 s later: with it, or by and by.
  pushAll(notice, make, started);
  assertEquals(kinds(frames), expected);
  frames.length = 0;
  const second = JSON.stringify([notice, make, started]).replaceAll("b1", "b2")
    .replaceAll('"t"', '"t2"').replaceAll("m-t", "m-t2");
  for (const line of JSON.parse(second)) push(line);
  assertEquals(kinds(frames), expected);
});

Deno.test("frames: the end of an unknown task is told before the turn that it starts", () => {
  const { finish, frames, push } = begin();
  const content =
    "<task-notification><task-id>b1</task-id><status>completed</status></task-notification>";
  push({ type: "queue-operation", operation: "enqueue", content });
  assertEquals(frames, []);
  push({ type: "user", message: { content } });
  finish();
  assertEquals(kinds(frames), [
    ...["task_updated", "task_notification", "background_tasks_changed", "init"],
  ]);
});

Deno.test("frames: takes no turn for one of the run that its end gave rise to", () => {
  const { ending, finish, frames, push } = begin();
  push(call("Bash", { command: "make", run_in_background: true }));
  push(result({ backgroundTaskId: "b1" }));
  ending();
  frames.length = 0;
  const content =
    "<task-notification><task-id>b1</task-id><status>killed</status></task-notification>";
  push({ type: "queue-operation", operation: "enqueue", content });
  push({ type: "user", message: { content } });
  push(text("I am told it was stopped"));
  finish();
  assertEquals(kinds(frames), [
    "task_updated",
    "task_notification",
    "background_tasks_changed",
  ]);
  assertEquals(frames[1]?.["summary"], "make");
});

Deno.test("frames: a shell that a subagent leaves in the background is a task of its own", () => {
  const { frames, push, pushSubagent } = begin();
  push(call("Agent", { ...AGENT_INPUT, run_in_background: true }));
  push(result({ isAsync: true, agentId: "a1" }));
  frames.length = 0;
  pushSubagent(call("Bash", { command: "make", run_in_background: true }, "t2"));
  pushSubagent(result({ backgroundTaskId: "b1" }, { id: "t2" }));
  push(notice("b1"));
  assertEquals(kinds(frames), [
    "assistant of a subagent",
    ...["task_progress", "background_tasks_changed", "task_started", "user of a subagent"],
    ...["task_updated", "task_notification", "background_tasks_changed"],
  ]);
  const started = frames.find(({ subtype }) => subtype === "task_started");
  assertEquals(
    [started?.["owned_by_subagent"], started?.["parent_task_id"], started?.["tool_use_id"]],
    [true, "a1", "t2"],
  );
  const listed = frames.find(({ subtype }) => subtype === "background_tasks_changed");
  assertEquals<unknown>(
    JSON.parse(JSON.stringify(listed?.["tasks"] ?? [])).map((
      task: Readonly<Record<string, unknown>>,
    ) => [task["task_id"], task["parent_task_id"]]),
    [["a1", undefined], ["b1", "a1"]],
  );
});

Deno.test("frames: why a subagent in the background has failed is told without whose end it is", () => {
  const { frames, push, pushSubagent } = begin();
  push(call("Agent", { ...AGENT_INPUT, run_in_background: true }));
  push(result({ isAsync: true, agentId: "a1" }));
  pushSubagent(text("API Error: 400 nope"));
  frames.length = 0;
  push({
    type: "queue-operation",
    operation: "enqueue",
    content: "<task-notification>\n<task-id>a1</task-id>\n<status>failed</status>\n" +
      '<summary>Agent "Look" failed: API Error: 400 nope</summary>\n</task-notification>',
  });
  const [updated, notification] = frames;
  assertEquals<unknown>(
    [updated?.["patch"], notification?.["status"], notification?.["summary"]],
    [{ status: "failed", error: "API Error: 400 nope" }, "failed", "API Error: 400 nope"],
  );
});

Deno.test("frames: a result counts the subagents that have ended by then, and not one that is at work again", () => {
  const { push, pushAll, pushSubagent, state } = begin();
  const counts = () => {
    const { completed, failed } = subagentsOf(state(), sumOf(runTurns(state())));
    return [completed, failed];
  };
  push(call("Agent", { ...AGENT_INPUT, run_in_background: true }));
  push(result({ isAsync: true, agentId: "a1" }));
  pushSubagent(call("Bash", { command: "make", run_in_background: true }, "t2"));
  pushSubagent(result({ backgroundTaskId: "b1" }, { id: "t2" }));
  pushSubagent(text("left"));
  assertEquals(counts(), [0, 0]);
  pushAll(notice("a1"));
  assertEquals(counts(), [1, 0], "the model has yet to be told");
  pushAll(notice("b1"));
  pushSubagent(WAKING);
  assertEquals(counts(), [0, 0]);
  pushSubagent(text("made"));
  const again = notice("a1");
  push({ ...again, content: again.content.replace("completed", "failed") });
  assertEquals(counts(), [0, 1]);
});

Deno.test("frames: the end of its shell wakes a subagent that was over, of which it is not told in a frame", () => {
  const { frames, push, pushAll, pushSubagent } = begin();
  push(call("Agent", { ...AGENT_INPUT, run_in_background: true }));
  push(result({ isAsync: true, agentId: "a1" }));
  pushSubagent(call("Bash", { command: "make", run_in_background: true }, "t2"));
  pushSubagent(result({ backgroundTaskId: "b1" }, { id: "t2" }));
  pushSubagent(text("left"));
  pushAll(notice("a1"), notice("b1"));
  frames.length = 0;
  // What the session is told of the second end may be written before what the subagent has said.
  push(notice("a1"));
  assertEquals(frames, []);
  pushSubagent(WAKING);
  pushSubagent(text("made"));
  assertEquals(kinds(frames), [
    ...["background_tasks_changed", "task_started", "assistant of a subagent"],
    ...["task_updated", "task_notification", "background_tasks_changed"],
  ]);
  const [, started] = frames;
  assertEquals([started?.["task_id"], started?.["prompt"]], ["a1", undefined]);
});

Deno.test("frames: a version may list tasks before the end of one", () => {
  const { frames, push } = begin("2.1.285");
  push(call("Bash", { command: "make", run_in_background: true }));
  push(result({ backgroundTaskId: "b1" }));
  frames.length = 0;
  push(notice("b1"));
  assertEquals(kinds(frames), ["background_tasks_changed", "task_updated", "task_notification"]);
});

Deno.test("frames: lists a shell that is no longer waited for", () => {
  const { watchShells, frames, push } = begin();
  push(call("Bash", { command: "make" }));
  watchShells(["b1"], Date.parse("2026-01-01T00:01:00.000Z"));
  push(result({ backgroundTaskId: "b1" }));
  assertEquals(kinds(frames), [
    "assistant",
    "task_started",
    "background_tasks_changed",
    "task_updated",
    "user",
  ]);
});

Deno.test("frames: a subagent that a message wakes goes on in the background", () => {
  const { frames, push, pushSubagent } = begin();
  const wake = (before = () => {}) => {
    push(call("SendMessage", { to: "bob", message: "Look again" }, "t2"));
    before();
    push(result({ success: true, resumedAgentId: "a1" }, { id: "t2" }));
  };
  const goOn = () => {
    pushSubagent(COORDINATED);
    pushSubagent(text("It is still fine"));
  };
  const woken = [
    "assistant",
    "background_tasks_changed",
    "task_started",
    "user",
    "assistant of a subagent",
  ];
  push(call("Agent", WAITING_INPUT));
  pushSubagent(text("It is fine"));
  push(result(DONE));
  frames.length = 0;
  wake();
  goOn();
  assertEquals(kinds(frames), woken);
  const [, , started] = frames;
  assertEquals(
    [started?.["task_id"], started?.["tool_use_id"], started?.["prompt"]],
    ["a1", "t2", "Look again"],
  );
  assertEquals([started?.["description"], started?.["is_backgrounded"]], ["Look", true]);
  push(notice("a1"));
  frames.length = 0;
  // Its lines may be read before the result of the call.
  wake(goOn);
  assertEquals(kinds(frames), woken);

  push(notice("a1"));
  frames.length = 0;
  // They may be read before the call, too, of whose answer another line is read first.
  push(text("It is there"));
  pushSubagent({ ...COORDINATED, timestamp: "2026-01-01T00:00:11.000Z" });
  pushSubagent({ ...text("It is still fine"), timestamp: "2026-01-01T00:00:12.000Z" });
  push({ ...text("Again"), timestamp: "2026-01-01T00:00:10.000Z" });
  wake();
  assertEquals(kinds(frames), ["assistant", "assistant", ...woken]);
  push(notice("a1"));
  frames.length = 0;
  // A message that it was given before it was over wakes it without a call.
  pushSubagent({ ...COORDINATED, timestamp: "2026-01-01T00:00:13.000Z" });
  pushSubagent({ ...text("It is still fine"), timestamp: "2026-01-01T00:00:14.000Z" });
  assertEquals(kinds(frames), []);
  push({ ...text("So"), timestamp: "2026-01-01T00:00:15.000Z" });
  assertEquals(kinds(frames), ["assistant", "assistant of a subagent"]);

  // One of the session as it was before the run is known by its own lines alone.
  const earlier = begin();
  earlier.push(call("SendMessage", { to: "a1", message: "Look again" }, "t2"));
  earlier.push(result({ success: true, resumedAgentId: "a1" }, { id: "t2" }));
  assertEquals(kinds(earlier.frames), ["assistant"]);
  earlier.pushSubagent({ ...text("It is still fine"), timestamp: "2026-01-01T00:00:08.000Z" });
  assertEquals(kinds(earlier.frames), woken);
});

Deno.test("frames: a subagent that another one's message wakes goes on in the background, and is over once", () => {
  const { frames, push, pushSubagent, pushNested } = begin();
  push(call("Agent", WAITING_INPUT));
  pushSubagent(text("It is fine"));
  push(result(DONE));
  push(call("Agent", { ...WAITING_INPUT, name: "al" }, "t2"));
  pushNested({ type: "user", message: { content: "Look around" } });
  const others = "<system-reminder>\nOther agents active in this session, addressable: main, bob.";
  pushNested({ type: "user", isMeta: true, message: { content: others } });
  frames.length = 0;
  pushNested(call("SendMessage", { to: "bob", message: "Look again" }, "t3"));
  const origin = { kind: "peer", from: "al", senderTaskId: "a2" };
  pushSubagent({ ...COORDINATED, origin });
  pushSubagent(text("It is still fine"));
  pushNested(result({ success: true, resumedAgentId: "a1" }, { id: "t3" }));
  push(notice("a1"));
  // The one that has woken it is over before it hears of that: the session is told instead.
  push(notice("a1"));
  assertEquals(kinds(frames), [
    "task_progress",
    "assistant of a subagent",
    "background_tasks_changed",
    "task_started",
    "user of a subagent",
    "assistant of a subagent",
    "task_updated",
    "task_notification",
    "background_tasks_changed",
  ]);
  const started = frames.find(({ subtype }) => subtype === "task_started");
  assertEquals(
    [started?.["task_id"], started?.["tool_use_id"], started?.["prompt"]],
    ["a1", "t3", '<agent-message from="al">\nLook again\n</agent-message>'],
  );
});

Deno.test("frames: why a subagent goes on for which the turn waits is told with what subagents say", () => {
  const { frames, push, pushSubagent } = begin();
  push(call("Agent", WAITING_INPUT));
  pushSubagent({ type: "user", message: { content: "Look around" } });
  frames.length = 0;
  pushSubagent({
    type: "user",
    isMeta: true,
    message: { content: "Stop hook feedback:\nlook again" },
  });
  assertEquals(frames, []);
});

Deno.test("frames: says why a subagent has failed for which the turn waits", () => {
  const { frames, push, pushSubagent } = begin();
  push(call("Agent", WAITING_INPUT));
  pushSubagent({ type: "user", message: { content: "Look around" } });
  const failed = result({}, { failed: true });
  const [block] = failed.message.content;
  push({ ...failed, message: { content: [{ ...block, content: "No API" }] } });
  const [update, notification] = frames.slice(-3);
  const { error } = update?.["patch"] as { readonly error?: string };
  assertEquals([error, notification?.["summary"]], ["No API", "No API"]);
});
