import { assertEquals } from "@std/assert";
import { runTurns, subagentsOf, sumOf } from "../../../src/conversation/output/turns/run_turns.ts";
import { trackProgress } from "../../../src/conversation/output/frames/tasks.ts";
import { hook, READ } from "../control/inputs.ts";
import {
  answer,
  at,
  call,
  entryOf,
  type Line,
  notice,
  notification,
  OVER,
  prompt,
  result,
  text,
} from "./lines.ts";
import { fieldsOf, kinds } from "./outlines.ts";
import { begun, FramesRun, VERSION } from "./runs.ts";

const INPUT = { description: "Look", prompt: "Look around", subagent_type: "Explore" };
const FOREGROUND = { ...INPUT, run_in_background: false };
const BACKGROUND = { ...INPUT, run_in_background: true };
const SUBAGENT = { toolUseId: "t" };
const NESTED = { agentId: "a2", toolUseId: "t2" };
const LOOK = prompt("Look around");

/** What a foreground subagent's call gave. */
const DONE = {
  status: "completed",
  agentId: "a1",
  agentType: "Explore",
  content: [{ type: "text", text: "It is fine" }],
  totalTokens: 12,
  totalToolUseCount: 1,
  totalDurationMs: 34,
};

const agent = (id = "t", input: Line = FOREGROUND, more: Line = {}) =>
  call(id, "Agent", input, { ...at(0), ...more });
const make = (id = "t", more: Line = {}) => call(id, "Bash", { command: "make", ...more }, at(0));
const makeApart = (id = "t") => make(id, { run_in_background: true });
const launched = (id = "t") => result(id, { isAsync: true, agentId: "a1" });
const shell = (task: string, id = "t") => result(id, { backgroundTaskId: task });
const starts = (agent_id: string, agent_type = "Explore") => ({
  type: "hook",
  event: "SubagentStart",
  payload: { agent_id, agent_type },
  callback: 0,
} as const);

/** A run with a background subagent. */
function launch() {
  const run = begun();
  run.push(agent("t", BACKGROUND));
  run.push(launched());
  return run;
}

const ENDED = "task_updated task_notification";
const BEGUN_APART = "background_tasks_changed task_started";
const ENDED_APART = `${ENDED} background_tasks_changed`;

Deno.test("a foreground subagent is printed as it works", () => {
  const run = begun();
  // Its first line may be read before the line of the call.
  run.pushSubagent(SUBAGENT, LOOK);
  assertEquals(run.take(), []);
  run.push(agent());
  run.pushSubagent(SUBAGENT, call("t2", "Bash", { command: "ls" }), result("t2"));
  run.pushSubagent(SUBAGENT, text("It is fine"));
  run.push(result("t", DONE));
  run.pushSubagent(SUBAGENT, text("too late"));
  const frames = run.take();
  assertEquals(
    kinds(frames),
    `assistant task_started user@t task_progress assistant@t user@t ${ENDED} user`,
  );
  assertEquals(fieldsOf(frames, "task_progress", "description", "last_tool_name", "usage"), [
    ["Running ls", "Bash", { total_tokens: 0, tool_uses: 1, duration_ms: 0 }],
  ]);
  assertEquals(fieldsOf(frames, "task_started", "task_id", "subagent_type", "prompt"), [
    ["a1", "Explore", "Look around"],
  ]);
  assertEquals(fieldsOf(frames, "task_notification", "summary", "usage"), [
    ["It is fine", { total_tokens: 12, tool_uses: 1, duration_ms: 34 }],
  ]);
});

Deno.test("a subagent's result waits a second for its lines", () => {
  const run = begun();
  run.push(agent());
  run.push({ ...result("t", DONE), ...at(9000) });
  run.pushSubagent(SUBAGENT, LOOK);
  assertEquals(kinds(run.take()), "assistant");
  run.pushSubagent(SUBAGENT, text("It is fine", at(8000)));
  assertEquals(kinds(run.take()), `task_started user@t ${ENDED} user`);
  run.push(agent("t2"));
  run.push(result("t2", { ...DONE, agentId: "a2" }));
  run.take();
  assertEquals(run.due("subagent"), 1000);
  run.pass("subagent");
  run.pushSubagent(SUBAGENT, LOOK);
  assertEquals(fieldsOf(run.take(), "task_started", "task_id"), [["a2"]]);
});

Deno.test("a subagent's result waits for its own words", () => {
  const run = begun();
  run.push(agent(), agent("t2"));
  run.pushSubagent(SUBAGENT, LOOK);
  run.pushSubagent(NESTED, LOOK);
  run.take();
  const over = (subagent: typeof NESTED, line: Line) => {
    const entry = entryOf({ version: VERSION, isSidechain: true, ...line });
    const about = { type: "Explore", description: "Look", ...subagent };
    return { type: "subagent", line: { subagent: about, entry } } as const;
  };
  run.give(over(NESTED, text("Fine here")));
  run.push(result("t", DONE));
  assertEquals([kinds(run.take()), run.due("subagent")], ["", 1000]);
  run.give(over({ agentId: "a1", toolUseId: "t" }, text("It is fine")), READ);
  assertEquals(kinds(run.take()), `${ENDED} user`);
});

Deno.test("a caller's hooks begin and end a subagent once", () => {
  const run = begun();
  const over = { tool_name: "Agent", tool_use_id: "t", tool_response: DONE };
  const returns = { type: "hook", event: "PostToolUse", payload: over, callback: 0 } as const;
  run.give(starts("a1"));
  assertEquals(run.take(), [], "the call has not been read");
  run.push(agent());
  const frames = run.take();
  assertEquals(kinds(frames), "assistant task_started");
  assertEquals(fieldsOf(frames, "task_started", "task_id", "tool_use_id", "description"), [
    ["a1", "t", "Look"],
  ]);
  run.give(starts("a1"));
  run.pushSubagent(SUBAGENT, LOOK);
  run.give(returns);
  assertEquals(kinds(run.take()), "user@t", "its words come first");
  run.pushSubagent(SUBAGENT, text("It is fine"));
  run.give(returns);
  run.push(result("t", DONE));
  const ends = run.take();
  assertEquals(kinds(ends), `${ENDED} user`);
  assertEquals(fieldsOf(ends, "task_notification", "summary"), [["It is fine"]]);
});

Deno.test("a hook of one subagent begins no later call", () => {
  const run = begun();
  run.give(starts("a1"));
  run.pushSubagent(SUBAGENT, LOOK);
  run.push(agent("t1"));
  assertEquals(kinds(run.take()), "assistant");
  run.push(result("t1", {}));
  run.give(starts("a2"), starts("a3"));
  run.push(OVER);
  run.take();
  run.push(agent("t3"));
  assertEquals(kinds(run.take()), "assistant");
});

Deno.test("a hook counts for a call after a late line", () => {
  const run = begun();
  run.give({ ...starts("a1"), ranAt: Date.UTC(2026, 0, 1, 0, 1) });
  run.push({ ...OVER, ...at(0) });
  run.push(agent());
  assertEquals(kinds(run.take()), "assistant task_started");
});

Deno.test("a hook that fits two calls begins neither", () => {
  for (const other of [agent("t2", { ...FOREGROUND, prompt: "2" }), call("t2", "Skill")]) {
    const run = begun();
    run.push(agent(), other);
    run.give(starts("a1"), starts("a9", "Plan"));
    assertEquals(kinds(run.take()), "assistant");
    run.pushSubagent(SUBAGENT, LOOK);
    assertEquals(fieldsOf(run.take(), "task_started", "tool_use_id"), [["t"]]);
  }
});

Deno.test("subagents of a subagent have tasks, and no words", () => {
  const run = begun();
  run.push(agent());
  run.pushSubagent(SUBAGENT, LOOK, agent("t2", { ...FOREGROUND, description: "Look closer" }));
  run.pushSubagent(NESTED, prompt("Look"), call("t3"));
  run.pushSubagent(SUBAGENT, result("t2", { ...DONE, agentId: "a2" }));
  run.pushSubagent(NESTED, call("t4"));
  run.pushSubagent(SUBAGENT, text("It is fine"));
  run.push(result("t", DONE));
  const frames = run.take();
  const tasks = frames.filter(({ subtype }) => `${subtype}`.startsWith("task_"));
  assertEquals(tasks.map(({ subtype, task_id: id }) => `${subtype} ${id}`), [
    ...["task_started a1", "task_progress a1", "task_started a2", "task_progress a2"],
    ...["task_updated a2", "task_notification a2", "task_updated a1", "task_notification a1"],
  ]);
  assertEquals(tasks[1]?.["description"], "Look closer");
  assertEquals([tasks[2]?.["spawn_depth"], tasks[2]?.["parent_task_id"]], [2, "a1"]);
  const spoken = frames.flatMap(({ parent_tool_use_id: parent }) => parent ?? []);
  assertEquals([...new Set(spoken)], ["t"]);
});

Deno.test("a background subagent speaks until the run ends", () => {
  const run = launch();
  run.pushSubagent(SUBAGENT, LOOK, text("I see"));
  run.ending();
  run.pushSubagent(SUBAGENT, text("I was stopped"));
  run.finish();
  const frames = run.take();
  assertEquals(kinds(frames), `assistant ${BEGUN_APART} user assistant@t ${ENDED_APART}`);
  assertEquals(fieldsOf(frames, "task_notification", "status"), [["stopped"]]);
});

const CALLED = Date.UTC(2026, 0, 1);

Deno.test("a foreground shell is a task after three seconds", () => {
  const run = begun();
  run.waitUntil(CALLED);
  run.push(make("t", { description: "Build" }), make("t2"));
  assertEquals(run.due("shells"), 3000);
  const running = { type: "shells", ids: ["b1", "b2"] } as const;
  run.waitUntil(CALLED + 2999);
  run.give(running);
  assertEquals(kinds(run.take()), "assistant assistant");
  // Who runs could not be told so early: it is asked again.
  assertEquals([run.looks, run.due("shells")], [0, 500]);
  run.waitUntil(CALLED + 3499);
  assertEquals(run.looks, 1);
  run.give(running, running);
  assertEquals(run.due("shells"), undefined);
  run.push(result("t", {}, { is_error: true }));
  run.push(result("t2", {}));
  const frames = run.take();
  const tasks = "task_started task_started task_notification user task_notification user";
  assertEquals(kinds(frames), tasks);
  assertEquals(fieldsOf(frames, "task_started", "task_id", "description"), [
    ...[["b1", "Build"], ["b2", "make"]],
  ]);
  assertEquals(fieldsOf(frames, "task_notification", "task_id", "summary", "status"), [
    ...[["b1", "Build", "failed"], ["b2", "make", "completed"]],
  ]);
});

Deno.test("a shell's three seconds count from its own start", () => {
  const run = begun();
  const look = (ms: number, ids: readonly string[], startedAt: readonly number[]) => {
    run.waitUntil(CALLED + ms);
    run.give({ type: "shells", ids, startedAt: startedAt.map((at) => CALLED + at) });
  };
  run.push(make(), make("t2", { command: "make test" }));
  run.take();
  look(3000, [], []);
  look(9000, ["b1", "b2"], [0, 8900]);
  run.push(result("t"));
  assertEquals(kinds(run.take()), "task_started task_notification user");
  look(11_899, ["b2"], [8900]);
  assertEquals(run.take(), []);
  look(11_900, ["b2"], [8900]);
  assertEquals(fieldsOf(run.take(), "task_started", "description"), [["make test"]]);
});

Deno.test("shells that match no calls are no tasks", () => {
  const run = begun();
  run.push(make());
  run.waitUntil(CALLED + 10_000);
  run.give({ type: "shells", ids: ["b1", "b2"] });
  assertEquals(kinds(run.take()), "assistant");
});

Deno.test("a foreground shell that goes to the background is listed", () => {
  const run = begun();
  run.push(make());
  run.waitUntil(CALLED + 10_000);
  run.give({ type: "shells", ids: ["b1"] });
  run.push(shell("b1"));
  assertEquals(
    kinds(run.take()),
    "assistant task_started background_tasks_changed task_updated user",
  );
});

Deno.test("a task begins before it ends, however its lines come", () => {
  const run = begun();
  const expected = `assistant ${BEGUN_APART} user ${ENDED_APART}`;
  run.push({ ...notice("b1"), ...at(10_000) }, makeApart(), shell("b1"));
  assertEquals(kinds(run.take()), expected);
  for (const line of [notice("b2"), makeApart("t2"), shell("b2", "t2")]) run.push(line);
  assertEquals(kinds(run.take()), expected);
});

Deno.test("an unknown task ends before the turn that it starts", () => {
  const run = begun();
  run.push(notice("b1"));
  assertEquals(run.take(), []);
  run.push(prompt(notification("b1")));
  run.finish();
  assertEquals(kinds(run.take()), `${ENDED_APART} init`);
});

Deno.test("a task killed by the run's end starts no turn", () => {
  const run = begun();
  run.push(makeApart());
  run.push(shell("b1"));
  run.ending();
  run.take();
  run.push(notice("b1", "killed"));
  run.push(prompt(notification("b1", "killed")));
  run.push(text("I am told it was stopped"));
  run.finish();
  const frames = run.take();
  assertEquals(kinds(frames), ENDED_APART);
  assertEquals(fieldsOf(frames, "task_notification", "summary"), [["make"]]);
});

/** A background subagent that has a background shell. */
function launchWithShell() {
  const run = launch();
  run.take();
  run.pushSubagent(SUBAGENT, makeApart("t2"), shell("b1", "t2"));
  return run;
}

Deno.test("a subagent's background shell is a task of its own", () => {
  const run = launchWithShell();
  run.push(notice("b1"));
  const frames = run.take();
  assertEquals(kinds(frames), `assistant@t task_progress ${BEGUN_APART} user@t ${ENDED_APART}`);
  assertEquals(
    fieldsOf(frames, "task_started", "owned_by_subagent", "parent_task_id", "tool_use_id"),
    [[true, "a1", "t2"]],
  );
  const [[tasks] = []] = fieldsOf(frames, "background_tasks_changed", "tasks");
  assertEquals((tasks as Line[]).map(({ task_id, parent_task_id }) => [task_id, parent_task_id]), [
    ...[["a1", undefined], ["b1", "a1"]],
  ]);
});

Deno.test("a subagent's background subagent is not owned by it", () => {
  const run = launch();
  run.take();
  const id = { isAsync: true, agentId: "a2" };
  run.pushSubagent(SUBAGENT, agent("t2", { ...BACKGROUND, name: "al" }), result("t2", id));
  const fields = ["task_id", "owned_by_subagent", "parent_task_id", "spawn_depth", "prompt"];
  assertEquals(fieldsOf(run.take(), "task_started", ...fields), [
    ["a2", undefined, "a1", 2, "Look around"],
  ]);
});

Deno.test("a failed background subagent ends with its reason", () => {
  const run = launch();
  const reason = "API Error: 400 nope";
  run.pushSubagent(SUBAGENT, text(reason));
  run.take();
  run.push(notice("a1", "failed", `<summary>Agent "Look" failed: ${reason}</summary>\n`));
  const frames = run.take();
  assertEquals(fieldsOf(frames, "task_updated", "patch"), [[{ status: "failed", error: reason }]]);
  assertEquals(fieldsOf(frames, "task_notification", "status", "summary"), [["failed", reason]]);
});

Deno.test("a failed foreground subagent ends with its reason", () => {
  const run = begun();
  run.push(agent());
  run.pushSubagent(SUBAGENT, LOOK);
  run.push(result("t", {}, { is_error: true, content: "No API" }));
  const frames = run.take();
  const [[patch] = []] = fieldsOf(frames, "task_updated", "patch");
  assertEquals((patch as Line)["error"], "No API");
  assertEquals(fieldsOf(frames, "task_notification", "summary"), [["No API"]]);
});

/** With what a subagent that was over goes on, because its shell has ended or a message has come. */
const WAKING = prompt("[SYSTEM NOTIFICATION - NOT USER INPUT]", {
  isMeta: true,
  origin: { kind: "task-notification", producer: "session-task" },
  ...at(10_000),
});
const COORDINATED = prompt("The coordinator sent a message", {
  isMeta: true,
  origin: { kind: "coordinator" },
});

Deno.test("a result counts subagents that are over and stay over", () => {
  const run = launchWithShell();
  const counts = () => {
    const { completed, failed } = subagentsOf(run.state, sumOf(runTurns(run.state)));
    return [completed, failed];
  };
  run.pushSubagent(SUBAGENT, text("left"));
  assertEquals(counts(), [0, 0]);
  run.push(notice("a1"));
  assertEquals(counts(), [1, 0], "the model has yet to read of it");
  run.push(notice("b1"));
  run.pushSubagent(SUBAGENT, WAKING);
  assertEquals(counts(), [0, 0]);
  run.pushSubagent(SUBAGENT, text("made"));
  run.push(notice("a1", "failed"));
  assertEquals(counts(), [0, 1]);
});

Deno.test("the end of its shell wakes a subagent", () => {
  const run = launchWithShell();
  run.pushSubagent(SUBAGENT, text("left"));
  run.push(notice("a1"), notice("b1"));
  run.take();
  // The second end may be written before the subagent's last words.
  run.push(notice("a1"));
  assertEquals(run.take(), []);
  run.pushSubagent(SUBAGENT, WAKING, text("made"));
  const frames = run.take();
  assertEquals(kinds(frames), `${BEGUN_APART} assistant@t ${ENDED_APART}`);
  assertEquals(fieldsOf(frames, "task_started", "task_id", "prompt"), [["a1", undefined]]);
});

Deno.test("an older version lists tasks before one ends", () => {
  const run = begun({}, { ...prompt(), version: "2.1.285" });
  const old = (line: Line) => ({ ...line, version: "2.1.285" });
  run.push(old(makeApart()));
  run.push(old(shell("b1")));
  run.take();
  run.push(notice("b1"));
  assertEquals(kinds(run.take()), `background_tasks_changed ${ENDED}`);
});

const SEND = call("t2", "SendMessage", { to: "bob", message: "Look again" }, at(0));
const SENT = result("t2", { success: true, resumedAgentId: "a1" });
const WOKEN = `assistant ${BEGUN_APART} user assistant@t`;

/** A run in which a foreground subagent is over. */
function lookedAround() {
  const run = begun();
  run.push(agent());
  run.pushSubagent(SUBAGENT, text("It is fine"));
  run.push(result("t", DONE));
  run.take();
  return run;
}

Deno.test("a message wakes a subagent in the background", () => {
  const run = lookedAround();
  const goesOn = [COORDINATED, text("It is still fine")];
  run.push(SEND);
  run.push(SENT);
  run.pushSubagent(SUBAGENT, ...goesOn);
  const frames = run.take();
  assertEquals(kinds(frames), WOKEN);
  const fields = ["task_id", "tool_use_id", "prompt", "description", "is_backgrounded"];
  assertEquals(fieldsOf(frames, "task_started", ...fields), [
    ["a1", "t2", "Look again", "Look", true],
  ]);
  // Its lines may be read before the result of the call, and before the call.
  run.push(notice("a1"));
  run.take();
  run.push(SEND);
  run.pushSubagent(SUBAGENT, ...goesOn);
  run.push(SENT);
  assertEquals(kinds(run.take()), WOKEN);
  run.push(notice("a1"));
  run.take();
  const [coordinated = {}, words = {}] = goesOn;
  run.push(text("It is there"));
  run.pushSubagent(SUBAGENT, { ...coordinated, ...at(11_000) }, { ...words, ...at(12_000) });
  run.push(text("Again", at(10_000)));
  run.push(SEND);
  run.push(SENT);
  assertEquals(kinds(run.take()), `assistant assistant ${WOKEN}`);
});

Deno.test("an earlier message wakes a subagent without a call", () => {
  const run = lookedAround();
  run.push(SEND);
  run.push(SENT);
  run.pushSubagent(SUBAGENT, COORDINATED, text("It is still fine"));
  run.push(notice("a1"));
  run.take();
  run.pushSubagent(SUBAGENT, { ...COORDINATED, ...at(13_000) }, text("Fine", at(14_000)));
  assertEquals(run.take(), []);
  run.push(text("So", at(15_000)));
  assertEquals(kinds(run.take()), "assistant assistant@t");
});

Deno.test("a message wakes a subagent of an earlier run", () => {
  const run = begun();
  run.push(SEND);
  run.push({ ...SENT, ...at(9000) });
  assertEquals(kinds(run.take()), "assistant");
  run.pushSubagent(SUBAGENT, text("It is still fine", at(8000)));
  assertEquals(kinds(run.take()), `${BEGUN_APART} user assistant@t`);
});

Deno.test("a subagent that another one wakes ends once", () => {
  const run = lookedAround();
  run.push(agent("t2", { ...FOREGROUND, name: "al" }));
  run.pushSubagent(NESTED, LOOK);
  const others = "<system-reminder>\nOther agents active in this session, addressable: main, bob.";
  run.pushSubagent(NESTED, prompt(others, { isMeta: true }));
  run.take();
  run.pushSubagent(NESTED, call("t3", "SendMessage", { to: "bob", message: "Look again" }));
  const origin = { kind: "peer", from: "al", senderTaskId: "a2" };
  run.pushSubagent(SUBAGENT, { ...COORDINATED, origin }, text("It is still fine"));
  run.pushSubagent(NESTED, result("t3", { success: true, resumedAgentId: "a1" }));
  run.push(notice("a1"));
  // The sender is over before it reads of the end: the session is told instead.
  run.push(notice("a1"));
  const frames = run.take();
  assertEquals(
    kinds(frames),
    `task_progress assistant@t2 ${BEGUN_APART} user@t2 assistant@t ${ENDED_APART}`,
  );
  assertEquals(fieldsOf(frames, "task_started", "task_id", "tool_use_id", "prompt"), [
    ["a1", "t3", '<agent-message from="al">\nLook again\n</agent-message>'],
  ]);
});

Deno.test("feedback for a foreground subagent is not printed", () => {
  const run = begun();
  run.push(agent());
  run.pushSubagent(SUBAGENT, LOOK);
  run.take();
  run.pushSubagent(SUBAGENT, prompt("Stop hook feedback:\nlook again", { isMeta: true }));
  assertEquals(run.take(), []);
});

/** What frames hold, in a word each: calls, results and texts, and whose they are. */
const words = (run: FramesRun) =>
  run.take().map((frame) => {
    if (frame.type === "system") return `${frame.subtype} ${frame["tool_use_id"]}`;
    const { content } = frame["message"] as { readonly content: readonly Line[] };
    const said = content.map(({ id, text, tool_use_id }) => id ?? text ?? tool_use_id).join();
    const { parent_tool_use_id: parent } = frame;
    return typeof parent === "string" ? `${parent}: ${said}` : said;
  });
const of = (id: string) => ({ agentId: `a-${id}`, toolUseId: id });
const said = (words: string, ms: number) => prompt([{ type: "text", text: words }], at(ms));

Deno.test("each of two parallel subagents begins after its call", () => {
  const run = begun();
  run.push(agent("t1", FOREGROUND, at(10)), agent("t2", FOREGROUND, at(30)), text("so", at(50)));
  assertEquals(words(run), ["t1"]);
  run.pushSubagent(of("t1"), said("one", 20));
  assertEquals(words(run), ["task_started t1", "t1: one", "t2"]);
  run.pushSubagent(of("t1"), said("further", 900));
  assertEquals(words(run), []);
  run.pushSubagent(of("t2"), said("two", 40));
  assertEquals(words(run), ["task_started t2", "t2: two", "so", "t1: further"]);
});

Deno.test("lines after a silent subagent's call wait a second", () => {
  const run = begun();
  run.push(agent("t1", FOREGROUND, at(10)), agent("t2", FOREGROUND, at(30)));
  assertEquals(words(run), ["t1"]);
  run.push({ ...result("t1", undefined, { is_error: true }), ...at(40) });
  assertEquals(words(run), ["t2"]);
  // A further line does not put that off.
  run.waitUntil(run.now + 500);
  run.push(text("meanwhile", at(50)));
  assertEquals(run.due("subagent"), 500);
  run.pass("subagent");
  assertEquals(words(run), ["t1", "meanwhile"]);
  // Neither does the next line wait.
  run.push(text("so", at(2000)));
  assertEquals(words(run), ["so"]);
  run.pushSubagent(of("t2"), said("late", 3000));
  assertEquals(words(run), ["task_started t2", "t2: late"]);
  run.push(agent("t3", FOREGROUND, at(4000)), agent("t4", FOREGROUND, at(4010)));
  assertEquals([words(run), run.due("subagent")], [["t3"], 1000]);
  run.finish();
  assertEquals(words(run).slice(0, 1), ["t4"]);
});

Deno.test("a session's first call waits for its subagent", () => {
  const run = new FramesRun();
  run.push(prompt(), agent("t1", FOREGROUND, at(10)), agent("t2", FOREGROUND, at(30)));
  run.pass("init");
  assertEquals(run.take().map(({ type }) => type), ["system", "assistant"]);
  assertEquals(run.due("subagent"), 1000);
});

Deno.test("calls do not wait for hooked or unread subagents", () => {
  const rows = [
    [{ callHooks: true }, FOREGROUND],
    [{ subagentsUnread: true }, FOREGROUND],
    [{}, INPUT],
  ] as const;
  for (const [options, input] of rows) {
    const run = begun(options);
    run.push(agent("t1", input, at(10)), agent("t2", input, at(30)));
    assertEquals(words(run), ["t1", "t2"]);
    assertEquals(run.due("subagent"), undefined);
  }
});

Deno.test("the first of two joined ends has an empty result", () => {
  const run = begun();
  run.push(text("started"));
  run.give(hook("Stop", { background_tasks: [{ type: "shell" }] }));
  run.push(OVER);
  run.take();
  for (const task of ["b1", "b2"]) run.push(prompt(notification(task), { uuid: `n-${task}` }));
  const frames = run.take().filter(({ subtype }) => subtype !== "task_notification");
  assertEquals(frames.map(({ type, subtype }) => `${type} ${subtype}`), [
    ...["system init", "result success", "system init"],
  ]);
  const fields = ["result", "num_turns", "stop_reason", "duration_api_ms", "result_index"];
  const absent = ["api_error_status", "terminal_reason"];
  assertEquals(
    fieldsOf(frames, "result", ...fields, "model_usage_since_last_result", ...absent),
    [["", 0, null, 0, 1, {}, undefined, undefined]],
  );
});

/** How the frames of a subagent's calls describe them. */
function described(calls: readonly (readonly [name: string, input: unknown])[]) {
  const content = calls.map(([name, input], at) => ({
    type: "tool_use",
    id: `t${at}`,
    name,
    input,
  }));
  const usage = { input_tokens: 3, cache_read_input_tokens: 10, output_tokens: 2 };
  const line = answer(content, "m", at(2000));
  const entry = entryOf({ ...line, message: { ...line.message, usage } });
  const task = {
    id: "a",
    toolUseId: "t",
    type: "local_agent",
    description: "look",
    background: false,
    since: Date.UTC(2026, 0, 1) + 500,
    calls: 4,
  } as const;
  const context = { version: VERSION, sessionId: "s", newUuid: () => "u" };
  const { tasks, frames } = trackProgress(
    new Map([["a", task]]),
    { agentId: "a", entry, cwd: "/home/me/project", home: "/home/me" },
    { ...context, toolUses: new Map(), allTasks: new Map(), printedTasks: new Map() },
  );
  assertEquals(tasks.get("a")?.calls, 4 + calls.length);
  assertEquals(frames[0]?.["usage"], { total_tokens: 15, tool_uses: 5, duration_ms: 1500 });
  return frames.map(({ description }) => description);
}

Deno.test("progress describes calls in Claude Code's words", () => {
  const long = "y".repeat(90);
  const rows: readonly (readonly [tool: string, input: unknown, description: string])[] = [
    ["Bash", { command: "echo one" }, "Running echo one"],
    ["Bash", { command: "echo one", description: `Say ${long}` }, `Running Say ${long}`],
    ["Bash", { command: "e".repeat(50) }, `Running ${"e".repeat(50)}`],
    ["Bash", { command: "e".repeat(51) }, `Running ${"e".repeat(49)}…`],
    ["Read", { file_path: "/home/me/project/a.txt" }, "Reading a.txt"],
    ["Read", { file_path: "/home/me/project" }, "Reading ~/project"],
    ["Write", { file_path: `/home/me/${long}` }, `Writing ~/${long}`],
    ["Edit", { file_path: "/etc/hosts" }, "Editing /etc/hosts"],
    ["NotebookEdit", { notebook_path: "n.ipynb" }, "Editing notebook n.ipynb"],
    ["WebFetch", { url: `http://a/${long}` }, `Fetching http://a/${"y".repeat(40)}…`],
    ["WebSearch", { query: "abc def" }, "Searching for abc def"],
    ["Agent", { description: "look closer" }, "look closer"],
    ["Glob", { pattern: "*" }, "Finding *"],
    ["Grep", { pattern: "a" }, "Searching for a"],
    ["Read", {}, "look"],
    ["mcp__a__b", { command: "x" }, "look"],
    ["Bash", "no object", "look"],
  ];
  const calls = rows.map(([tool, input]) => [tool, input] as const);
  assertEquals(described(calls), rows.map(([, , description]) => description));
});
