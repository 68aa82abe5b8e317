import { assertEquals } from "@std/assert";
import { answer, COMPLETED, INTERRUPTED, line, returned, userLine } from "./lines.ts";
import { callback, callbackHook, caller, message, reply, request } from "./caller_inputs.ts";
import {
  BUSY,
  COST,
  hook,
  IDLE,
  REACHABLE,
  READ,
  signal,
  status,
  stop,
  submit,
  turn,
  VERSION,
} from "./inputs.ts";
import { rested, run, type Simulation, type SimulationOptions } from "./simulation.ts";

const KEY = ".\x1b";
const URGENT = message("now", { priority: "now" });
const INTERRUPT = request("interrupt");
const REQUESTED = line({ type: "api-request", querySource: "repl_main_thread" });

/** A turn of "one" whose prompt is written. */
function begun(options: SimulationOptions = {}): Simulation {
  const session = rested(options, message("one"), submit("one"), BUSY, userLine("one"));
  return session;
}

/** The same with calls of tools in the transcript. */
function calling(tools: readonly string[], options: SimulationOptions = {}): Simulation {
  const session = begun(options);
  const calls = tools.map((name, at) => ({ type: "tool_use", id: `${at}`, name, input: {} }));
  session.receive(REQUESTED, answer(calls));
  return session;
}

const seen = ({ typed, state }: Simulation) => [typed, state.phase];

Deno.test("urgent message stops the turn and comes next", () => {
  const session = begun();
  session.receive(URGENT);
  assertEquals(seen(session), [KEY, "aborting"]);
  session.receive(INTERRUPTED);
  assertEquals([session.turns, session.delivered], [["aborted"], ["one", "now"]]);
});

Deno.test("urgent message waits for one running command", () => {
  const session = calling(["Bash"]);
  session.receive(URGENT, message("later"));
  session.wait(30_000);
  assertEquals([seen(session), session.delivered], [["", "working"], ["one"]]);
  session.receive(returned("0"));
  assertEquals(seen(session), [KEY, "aborting"]);
  session.receive(INTERRUPTED);
  assertEquals([session.turns, session.delivered], [["aborted"], ["one", "now"]]);
});

Deno.test("urgent message waits for nothing but one command", () => {
  for (const tools of [["Agent"], ["mcp__s__t"], ["Bash", "Bash"], []]) {
    const session = calling(tools);
    session.receive(URGENT);
    assertEquals(session.typed, KEY, tools.join());
  }
  const options = { caller: caller({ callbacks: [callback("PreToolUse")] }) };
  const ask = callbackHook("PreToolUse", { tool_use_id: "0", tool_name: "Bash" });
  const before = calling(["Bash"], options);
  before.receive(ask, URGENT);
  assertEquals(before.typed, KEY);
  const meanwhile = calling(["Bash"], options);
  meanwhile.receive(URGENT);
  assertEquals(meanwhile.typed, "");
  meanwhile.receive(ask);
  assertEquals(meanwhile.typed, KEY);
});

Deno.test("interrupt stops a command that an urgent message waits for", () => {
  const session = calling(["Bash"]);
  session.receive(URGENT, INTERRUPT);
  assertEquals(seen(session), [KEY, "aborting"]);
});

Deno.test("urgent message stops a turn before the child starts", () => {
  const session = run({ conversation: true, version: VERSION }, REACHABLE);
  session.receive(message("one", { uuid: "1" }), message("two", { uuid: "2" }));
  session.receive(message("now", { uuid: "3", priority: "now" }));
  session.receive(message("next", { uuid: "4", priority: "now" }));
  const waiting = () => session.state.queue.map(({ text, stopped }) => [text, stopped === true]);
  assertEquals(waiting(), [["one", true], ["now", false], ["next", false], ["two", false]]);
  session.receive(request("interrupt", { cancel_queued: true }));
  const response = { still_queued: [], cancelled: ["3", "4", "2"] };
  assertEquals(session.responses, [{ subtype: "success", response }]);
  assertEquals(waiting(), [["one", true]]);
  session.receive(IDLE);
  assertEquals([session.delivered, session.state.phase], [["one"], "aborting"]);
});

Deno.test("interrupt is answered at once and ends only the turn", () => {
  const session = rested({}, INTERRUPT);
  assertEquals(session.typed, "");
  session.receive(message("one"), submit("one"), BUSY, userLine("one"), INTERRUPT, IDLE);
  assertEquals(session.responses.length, 2);
  session.wait(1600);
  // Claude Code puts a prompt back into an empty input box if it is stopped before its first words.
  assertEquals([...seen(session), ...session.turns], [`${KEY}\x7f`, "resting", "aborted"]);
  session.receive(message("two"));
  assertEquals([session.delivered, session.signals], [["one", "two"], []]);
});

Deno.test("turn that completes before Escape is not aborted", () => {
  const session = rested();
  session.receive(message("one"), submit("one"), INTERRUPT, userLine("one"), answer("one!"));
  session.receive(stop("one!"), IDLE, COST);
  assertEquals([session.turns, session.state.phase], [["answered"], "resting"]);
});

Deno.test("Escape is repeated 3 s after a busy child draws", () => {
  const session = begun();
  session.receive(INTERRUPT);
  session.wait(10_000);
  for (let press = 1; press <= 5; press++) {
    assertEquals([session.typed, session.signals], [KEY.repeat(press), []]);
    session.show(".");
    session.wait(2999);
    assertEquals([session.typed, session.signals], [KEY.repeat(press), []]);
    session.wait(1);
  }
  assertEquals(session.signals.slice(0, 1), ["SIGTERM tree"]);
  assertEquals(session.exit()?.kind, "unstoppable");
});

Deno.test("output of an idle child delays no aborted turn", () => {
  const session = begun();
  session.receive(INTERRUPT, IDLE);
  session.show(".");
  session.wait(1499);
  assertEquals(session.turns, []);
  session.wait(1);
  assertEquals([session.turns, session.state.phase], [["aborted"], "resting"]);
});

Deno.test("child that draws nothing after Escape is abandoned", () => {
  const session = begun();
  session.receive(INTERRUPT);
  session.wait(30_999);
  assertEquals([session.typed, session.signals], [KEY, []]);
  session.wait(1);
  assertEquals(session.signals[0], "SIGTERM tree");
});

Deno.test("interrupt of a message that is taken late presses Escape", () => {
  const session = rested({ deliveryTimeoutMs: 300_000 }, message("one"), INTERRUPT);
  session.wait(40_000);
  assertEquals(seen(session), ["", "aborting"]);
  session.receive(submit("one"), BUSY);
  session.wait(1000);
  assertEquals([session.typed, session.signals], [KEY, []]);
});

Deno.test("Escape waits 5 s for a queue's first request", () => {
  const session = begun();
  session.receive(message("two"), INTERRUPT);
  session.wait(5999);
  assertEquals(seen(session), ["", "aborting"]);
  session.wait(1);
  assertEquals(session.typed, KEY);
  const requested = begun();
  requested.receive(message("two"), INTERRUPT, REQUESTED);
  assertEquals(requested.typed, KEY);
  const unwritten = rested({}, message("one"), submit("one"), BUSY, REQUESTED, INTERRUPT);
  assertEquals(unwritten.typed, "");
  unwritten.receive(userLine("one"));
  assertEquals(unwritten.typed, KEY);
});

Deno.test("interrupt reports queued messages and cancels them on request", () => {
  const interrupted = (body: Readonly<Record<string, unknown>>) => {
    const session = begun();
    session.receive(message("two", { uuid: "2" }));
    session.receive(message("three", { uuid: "3", priority: "later" }));
    session.receive(message("four", { priority: "later" }), request("interrupt", body));
    const cancelled = session.of("cancelled").map(({ message }) => message.text);
    return [session.responses.at(-1)?.["response"], cancelled, session.state.queue.length];
  };
  assertEquals(interrupted({}), [{ still_queued: ["2", "3"] }, [], 2]);
  assertEquals(interrupted({ cancel_queued: 7 }), [{ still_queued: ["2", "3"] }, [], 2]);
  assertEquals(interrupted({ cancel_queued: true }), [
    { still_queued: ["2"], cancelled: ["3"] },
    ["three", "four"],
    0,
  ]);
});

Deno.test("message hit by a stale Escape goes to another child", () => {
  const session = begun();
  session.receive(message("two"), REQUESTED, INTERRUPT, INTERRUPTED, IDLE);
  assertEquals(session.turns, ["aborted"]);
  const lost = rested({}, message("one"), submit("one"), BUSY, userLine("one"), message("two"));
  lost.receive(REQUESTED, INTERRUPT, INTERRUPTED, IDLE);
  lost.wait(2999);
  assertEquals(lost.signals, []);
  lost.wait(1);
  assertEquals(lost.exit(), { kind: "renewed", changes: {}, lost: true });
  assertEquals(lost.state.sent.map(({ text }) => text), ["two"]);
  session.receive(...turn("two"), IDLE, COST);
  assertEquals(session.turns, ["aborted", "answered"], "it was not hit");
});

Deno.test("unread Escape of a stopped turn can hit the next message", () => {
  const session = begun();
  session.receive(REQUESTED, INTERRUPT, INTERRUPTED, message("two"), IDLE);
  session.wait(3000);
  assertEquals(session.exit(), { kind: "renewed", changes: {}, lost: true });
  const read = begun();
  read.receive(REQUESTED, INTERRUPT);
  read.show("A");
  read.receive(INTERRUPTED, message("two"), IDLE);
  read.wait(3000);
  assertEquals([read.state.phase, read.signals], ["entered", []]);
});

Deno.test("stopped command without a line takes no later line", () => {
  const command = message("/greet", { command: "/greet" });
  const session = rested({}, command, submit("/greet"), BUSY, INTERRUPT);
  session.wait(1000);
  session.receive(IDLE);
  session.wait(1500);
  assertEquals(session.turns, ["aborted"]);
  assertEquals(session.of("turn").map(({ unwritten }) => unwritten), [[command.message]]);
  session.receive(message("two"), submit("two"), BUSY, userLine("two"), message("three"));
  const joined = { type: "queued_command", prompt: "three" };
  session.receive(line({ type: "attachment", attachment: joined }));
  assertEquals(session.state.sent, []);
  const ended = rested({}, command, submit("/greet"), BUSY, message("two"), signal("SIGTERM"));
  ended.receive(userLine("two"));
  assertEquals(ended.state.taken.map(({ text }) => text), ["/greet", "two"]);
});

Deno.test("stop of a turn leaves the hook of the next prompt", () => {
  const options = { caller: caller({ callbacks: [callback("UserPromptSubmit")] }) };
  const session = rested(options, message("one"), submit("one"), BUSY, message("two"), INTERRUPT);
  session.wait(1000);
  session.receive(callbackHook("UserPromptSubmit", { prompt: "two" }), submit("two"));
  assertEquals([session.asked.length, session.answered], [1, []]);
  session.receive(reply({}));
  assertEquals(session.replies, [{}]);
});

const WITH_TASKS = stop("one!", { background_tasks: [{ id: "b", type: "shell" }] });

Deno.test("interrupt that comes too late leaves tasks to run", () => {
  const rows = [
    [[INTERRUPT, WITH_TASKS, COMPLETED], `${KEY}\x7f`],
    [[INTERRUPT, COMPLETED, WITH_TASKS], `${KEY}\x7f`],
    [[WITH_TASKS, INTERRUPT, COMPLETED], ""],
  ] as const;
  for (const [late, typed] of rows) {
    const session = begun();
    session.receive(REQUESTED, answer("one!"), ...late, status("shell"), COST);
    session.show(".");
    session.wait(60_000);
    assertEquals([...seen(session), session.signals], [typed, "working", []]);
    session.receive(message("two"));
    assertEquals(session.delivered, ["one", "two"]);
  }
});

Deno.test("interrupt that comes too late refuses a subagent's permission", () => {
  const session = begun({ caller: caller({ permissions: true }) });
  const asked = { tool_name: "Bash", tool_input: {}, agent_id: "a" };
  session.receive(REQUESTED, answer("one!"), hook("PermissionRequest", asked, "7"), INTERRUPT);
  session.receive(WITH_TASKS);
  assertEquals(session.answered, []);
  session.receive(COMPLETED);
  assertEquals(session.of("answer"), [{ type: "answer", id: "7", veto: true }]);
});

Deno.test("message after a completed turn can be hit by its Escape", () => {
  const session = begun();
  session.receive(REQUESTED, answer("one!"), INTERRUPT, WITH_TASKS, COMPLETED, message("two"));
  // A subagent in the background goes on, and its end has a turn.
  session.receive(hook("PreToolUse", { agent_id: "a" }));
  assertEquals(session.state.phase, "entered");
  session.receive(submit(NOTIFICATION));
  session.receive(userLine(NOTIFICATION), answer("done"), stop("done"), IDLE, COST);
  session.wait(3000);
  assertEquals(session.exit(), { kind: "renewed", changes: {}, lost: true });
  assertEquals(session.state.sent.map(({ text }) => text), ["two"]);
});

const NOTIFICATION = "<task-notification>\n<task-id>b</task-id>\n</task-notification>";

Deno.test("task's end after a refusal is not stopped with it", () => {
  const session = calling(["Bash"], { caller: caller({ permissions: true }) });
  session.receive(READ, hook("PermissionRequest", { tool_name: "Bash", tool_input: {} }, "7"));
  session.receive(reply({ behavior: "deny", message: "No", interrupt: true }));
  assertEquals(seen(session), ["", "aborting"]);
  session.receive(submit(NOTIFICATION), returned("0"), INTERRUPTED, userLine(NOTIFICATION));
  session.wait(5000);
  assertEquals([...seen(session), session.turns], ["", "working", ["aborted, unrecorded"]]);
});

Deno.test("interrupt of a task end's turn waits for its prompt", () => {
  const session = begun();
  session.receive(REQUESTED, answer("one!"), WITH_TASKS, submit(NOTIFICATION), COMPLETED);
  session.receive(INTERRUPT);
  assertEquals(seen(session), ["", "aborting"]);
  session.receive(userLine(NOTIFICATION));
  assertEquals(seen(session), [KEY, "aborting"]);
  // Nothing is written during the hooks of a prompt, which may take long.
  const other = begun();
  other.receive(REQUESTED, answer("one!"), WITH_TASKS, COMPLETED, message("two"));
  other.receive(submit("two"), INTERRUPT);
  other.wait(1000);
  assertEquals(seen(other), [KEY, "aborting"]);
});

Deno.test("next task's hook ends a stopped turn without lines", () => {
  const session = begun();
  session.receive(REQUESTED, answer("one!"), WITH_TASKS, submit(NOTIFICATION), COMPLETED);
  session.receive(INTERRUPT);
  session.wait(1000);
  assertEquals([...seen(session), session.turns], [KEY, "aborting", []]);
  session.receive({ ...submit(NOTIFICATION), ranAt: 1200 });
  assertEquals([session.state.phase, session.turns], ["working", ["aborted, unrecorded"]]);
  // The line of the prompt has a time before that of its hook, so the hook's time does not part the turns.
  assertEquals(session.of("turn").map(({ endedBy }) => endedBy), [undefined]);
});

Deno.test("stop of a message sent during background tasks is its own", () => {
  const session = begun();
  session.receive(REQUESTED, answer("one!"), WITH_TASKS, COMPLETED, COST);
  session.receive(message("two"), URGENT, submit("two"));
  assertEquals([...seen(session), session.turns], ["", "aborting", []]);
  session.receive(userLine("two"));
  assertEquals(seen(session), [KEY, "aborting"]);
});

Deno.test("turn is stopped while its busy status is unread", () => {
  const session = rested({}, message("one"), submit("one"), INTERRUPT);
  assertEquals(session.state.status?.status, "idle");
  session.wait(1000);
  assertEquals([...seen(session), session.turns], [KEY, "aborting", []]);
  session.wait(1000);
  assertEquals(session.turns, ["aborted"]);
});

Deno.test("command's own hook does not end it once stopped", () => {
  const session = rested({}, message("/greet", { command: "/greet" }), BUSY, INTERRUPT);
  session.wait(1000);
  session.receive(submit("/greet"));
  assertEquals([...seen(session), session.turns], [KEY, "aborting", []]);
  session.receive(IDLE);
  session.wait(1500);
  assertEquals([session.turns, session.state.phase], [["aborted"], "resting"]);
});
