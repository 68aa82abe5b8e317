import { assertEquals } from "@std/assert";
import {
  backgroundTasksOf,
  backgroundWaitMs,
} from "../../../src/conversation/control/background_wait.ts";
import { answer, call, COMPLETED, line, PROMPT, userLine } from "./lines.ts";
import { caller, CLOSED, message, request, settledMessage } from "./caller_inputs.ts";
import type { HookPayload } from "../../../src/conversation/control/input.ts";
import {
  BUSY,
  COST,
  cost,
  EXIT,
  type Given,
  hook,
  IDLE,
  stop as stopped,
  submit,
  VERSION,
} from "./inputs.ts";
import { assertAfter, rested, run, type Simulation, type SimulationOptions } from "./simulation.ts";

/** When the Stop hook of the first turn runs, in milliseconds since the epoch; lines come before it or after it. */
const STOPPED_AT = Date.parse("2026-01-01T00:00:10.000Z");
const BEFORE = "2026-01-01T00:00:09.900Z";
const AFTER = "2026-01-01T00:00:10.200Z";

const SHELL = { id: "b1", type: "shell" };
const AGENT = { id: "a", type: "subagent", description: "Look" };

const notification = (task = "b1") =>
  `<task-notification>\n<task-id>${task}</task-id>\n<status>completed</status>\n</task-notification>`;
const operation = (operation: string, fields: object = {}) =>
  line({ type: "queue-operation", operation, timestamp: BEFORE, ...fields });
const enqueued = (task: string) => operation("enqueue", { content: notification(task) });
const ENQUEUED = enqueued("b1");
const DEQUEUED = operation("dequeue", { timestamp: AFTER });
const NOTIFIED = userLine(notification());
const result = (toolUseResult: object) =>
  userLine([{ type: "tool_result", tool_use_id: "t" }], { toolUseResult });
const LAUNCHED = result({ backgroundTaskId: "b1" });
const stop = (text: string, at = STOPPED_AT, ...background_tasks: readonly object[]) => ({
  ...stopped(text, { background_tasks }),
  ranAt: at,
});
const DONE = [answer("done"), stop("done")];

/** A run whose first turn has started a shell in the background. */
const launched = (options: SimulationOptions = {}) =>
  run({ version: VERSION, ...options }, PROMPT, BUSY, LAUNCHED);

/** The rest of a run whose second turn has begun: how the turns before it ended, and the run. */
function outcomeOf(session: Simulation) {
  session.receive(answer("again"), stop("again", STOPPED_AT + 1000), IDLE, EXIT);
  const { ending, turns, signals } = session;
  const text = ending?.kind === "answered" ? ending.stop["last_assistant_message"] : undefined;
  return { turns: turns.map((turn) => turn.split(",")[0]), text, signals };
}
const BOTH = { turns: ["answered"], text: "again", signals: ["SIGTERM"] };

Deno.test("turn of a task's end has a time limit from its first hook", () => {
  const session = rested({ timeoutMs: 60_000 });
  session.receive(message("one"), submit("one"), BUSY, userLine("one"), LAUNCHED);
  session.receive(ENQUEUED, ...DONE, DEQUEUED, hook("PostToolBatch", {}, "5"));
  assertEquals(session.turns, ["answered, unrecorded"]);
  assertAfter(60_000, session, "typed", ["?\x7f", "?\x7f.\x1b"]);
});

Deno.test("end of a task is not the line of a command", () => {
  const session = rested();
  session.receive(message("one"), submit("one"), BUSY, userLine("one"), LAUNCHED, answer("done"));
  session.receive(stop("done", STOPPED_AT, SHELL), COMPLETED);
  session.receive(message("/greet", { command: "/greet" }), submit(notification()), NOTIFIED);
  assertEquals(session.state.sent.map(({ text }) => text), ["/greet"]);
});

Deno.test("queued end of a task starts another turn", () => {
  const session = launched();
  session.receive(ENQUEUED, ...DONE, IDLE);
  assertEquals([session.signals, session.turns], [[], []]);
  session.receive(DEQUEUED, COMPLETED, IDLE);
  assertEquals([session.signals, session.turns], [[], []], "the next turn has begun");
  session.receive(NOTIFIED);
  assertEquals(session.turns, ["answered, unrecorded"]);
  session.receive(BUSY);
  session.wait(60_000);
  assertEquals(outcomeOf(session), BOTH);
});

Deno.test("end of a task can come after the Stop hook", () => {
  const session = launched();
  session.receive(...DONE, IDLE);
  assertEquals(session.signals, []);
  session.receive(ENQUEUED, IDLE, DEQUEUED, COMPLETED, NOTIFIED);
  assertEquals(outcomeOf(session), BOTH);
});

Deno.test("turn_duration line or 1.5 s prove that no task ended", () => {
  const agents = [{ isAsync: true, agentId: "a" }, { resumedAgentId: "a" }];
  for (const outcome of [{ backgroundTaskId: "b1" }, ...agents]) {
    const session = run({ version: VERSION }, PROMPT, BUSY, result(outcome), ...DONE, IDLE);
    assertEquals(session.signals, []);
    session.receive(COMPLETED);
    assertEquals(session.signals, ["SIGTERM"]);
  }
  const silent = launched();
  silent.receive(...DONE, IDLE);
  silent.wait(1500);
  assertEquals(silent.signals, ["SIGTERM"]);
});

Deno.test("next turn's Stop hook can come before its lines", () => {
  const session = launched();
  session.receive(ENQUEUED, ...DONE, stop("again", STOPPED_AT + 300));
  assertEquals(session.turns.length, 1);
  session.receive(DEQUEUED, COMPLETED, IDLE, NOTIFIED);
  assertEquals(session.signals, []);
  session.receive(answer("again"));
  assertEquals([session.signals, session.turns.length], [["SIGTERM"], 1]);
});

Deno.test("ends of several tasks start one turn", () => {
  const session = launched();
  session.receive(ENQUEUED, enqueued("b2"), ...DONE, DEQUEUED, DEQUEUED, COMPLETED, IDLE);
  session.receive(stop("again", STOPPED_AT + 300), NOTIFIED, userLine(notification("b2")));
  session.receive(answer("again"), { ...IDLE, updatedAt: STOPPED_AT + 400 }, EXIT);
  assertEquals([session.turns.length, session.ending?.kind], [1, "answered"]);
});

Deno.test("task end that left the queue starts no turn", () => {
  const [enqueue, remove] = [operation("enqueue", { content: "two" }), operation("remove")];
  const rows = [
    [[ENQUEUED, remove], ["SIGTERM"]],
    [[ENQUEUED, remove, enqueue], ["SIGTERM"]],
    [[ENQUEUED, enqueued("b2"), remove], []],
  ] as const;
  for (const [queue, signals] of rows) {
    const session = launched();
    session.receive(...queue, ...DONE, IDLE);
    assertEquals(session.signals, signals);
  }
  // A subagent that ends takes what is left for it out, before the result of its call.
  const nested = run({ version: VERSION }, PROMPT, call("t", {}, "Agent"), ENQUEUED);
  nested.receive(operation("dequeue"), result({ agentId: "a" }), ...DONE, IDLE);
  assertEquals(nested.signals, ["SIGTERM"]);
});

Deno.test("unread launch of a subagent hides no next turn", () => {
  const session = run({ version: VERSION }, PROMPT, BUSY, call("t", {}, "Agent"), enqueued("a"));
  session.receive(stop("done"), IDLE, DEQUEUED, result({ isAsync: true, agentId: "a" }));
  session.receive(answer("done"), COMPLETED);
  assertEquals(session.signals, []);
  session.receive(userLine(notification("a")));
  assertEquals(session.turns, ["answered, unrecorded"]);
});

Deno.test("child that goes on with a task is replaced later", () => {
  const change = request("set_permission_mode", { mode: "plan" });
  const waiting = (...queued: readonly Given[]) => {
    const session = rested({ caller: caller({ permissionMode: "default" }) });
    session.receive(message("one"), submit("one"), BUSY, userLine("one"), LAUNCHED, answer("done"));
    session.receive(stop("done", STOPPED_AT, SHELL), COMPLETED, change, ...queued, message("two"));
    return session;
  };
  assertEquals(waiting().exit()?.kind, "renewed");
  const queued = waiting(ENQUEUED);
  assertAfter(10_000, queued, "signals", [[], ["SIGTERM"]]);
  for (const seen of [[ENQUEUED], [ENQUEUED, DEQUEUED]]) {
    const session = waiting(...seen);
    session.receive(submit(notification()), DEQUEUED, NOTIFIED);
    session.wait(60_000);
    assertEquals(session.signals, []);
    session.receive(answer("again"), stop("again", STOPPED_AT + 1000), COMPLETED, IDLE, COST);
    assertEquals([session.turns.length, session.exit()?.kind], [1, "renewed"]);
  }
});

Deno.test("--drain-timeout bounds the wait for the child's queue", () => {
  for (const inputs of [[ENQUEUED, ...DONE, IDLE], [...DONE, IDLE, ENQUEUED]]) {
    const session = launched();
    session.receive(...inputs);
    assertAfter(10_000, session, "signals", [[], ["SIGTERM"]]);
    assertEquals([session.exit()?.kind, session.turns], ["answered", []]);
  }
});

Deno.test("task end starts a turn after a failed one", () => {
  const session = launched();
  const payload = { error: "unknown", last_assistant_message: "API Error" };
  session.receive(ENQUEUED, answer("API Error"));
  session.receive({ ...hook("StopFailure", payload), ranAt: STOPPED_AT }, IDLE, DEQUEUED, NOTIFIED);
  assertEquals(outcomeOf(session), { ...BOTH, turns: ["failed"] });
});

Deno.test("task end starts a turn after maxTurns, not after budget", () => {
  const batch = (at: number) => ({ ...hook("PostToolBatch", {}, "batch"), ranAt: at });
  const session = launched({ maxTurns: 1 });
  session.receive(ENQUEUED, batch(STOPPED_AT), COMPLETED, IDLE);
  assertEquals(session.signals, []);
  // The hook of the next turn's tools can come before a line of it.
  session.receive(batch(STOPPED_AT + 300));
  assertEquals(session.turns, ["max-turns, unrecorded"]);
  session.receive(DEQUEUED, NOTIFIED, IDLE, EXIT);
  assertEquals(session.ending, { kind: "max-turns" });
  const broke = launched({ maxBudgetUsd: 1 });
  broke.receive(ENQUEUED, cost(0), call("t1", {}), hook("PreToolUse", {}, "a"), cost(0.5), cost(2));
  broke.receive(batch(STOPPED_AT), DEQUEUED, NOTIFIED);
  assertEquals(broke.turns, []);
  broke.receive(COMPLETED, IDLE, EXIT);
  assertEquals(broke.ending, { kind: "budget" });
});

Deno.test("hook of a task's end takes back no budget's end", () => {
  const stopped = (options: SimulationOptions) => {
    const session = launched({ maxBudgetUsd: 1, ...options });
    session.receive(ENQUEUED, call("t1", {}), cost(2), hook("PostToolBatch", {}, "batch"));
    session.receive(submit(notification()));
    return session;
  };
  assertEquals(stopped({}).exit(), { kind: "budget" });
  const conversation = stopped({ conversation: true });
  assertEquals([conversation.turns, conversation.signals], [["budget, unrecorded"], []]);
});

Deno.test("cancelled message is not waited for", () => {
  const session = run({ conversation: true, version: VERSION });
  session.receive(settledMessage("/say", { kind: "local", text: "Said", version: VERSION }));
  session.receive(message("two", { uuid: "u" }), IDLE);
  session.receive(request("cancel_async_message", { message_uuid: "u" }), hook("SessionStart"));
  session.wait(40_000);
  assertEquals([session.turns, session.signals], [["settled"], []]);
});

Deno.test("command waits for the last line before background tasks", () => {
  const session = launched({ conversation: true });
  session.receive(settledMessage("/say", { kind: "local", text: "Said", version: VERSION }));
  session.receive(hook("SessionStart"), answer("done"), stop("done", STOPPED_AT, SHELL));
  session.receive(line({ type: "system", subtype: "stop_hook_summary" }));
  assertEquals(session.turns, []);
  session.receive(COMPLETED);
  assertEquals(session.turns, ["settled"]);
});

Deno.test("subagent's hook takes back no announced end", () => {
  const batch = (id: string, payload: HookPayload, at: number) => ({
    ...hook("PostToolBatch", payload, id),
    ranAt: at,
  });
  const session = launched({ maxTurns: 1 });
  session.receive(batch("turn", {}, STOPPED_AT), COMPLETED);
  session.receive(ENQUEUED, DEQUEUED, batch("agent", { agent_id: "a" }, STOPPED_AT + 300));
  session.receive(NOTIFIED);
  assertEquals(session.turns, ["max-turns, unrecorded"]);
});

Deno.test("closed conversation has the turn that a task end starts", () => {
  const closed = () => {
    const session = run({ version: VERSION, conversation: true, hasOnStdin: true });
    session.receive(message("hello there", { way: "stdin" }), PROMPT, LAUNCHED, ENQUEUED, ...DONE);
    session.receive({ ...COST, ranAt: STOPPED_AT + 1 }, IDLE);
    assertEquals(session.turns, ["answered"]);
    session.receive(CLOSED);
    assertEquals(session.signals, []);
    return session;
  };
  const session = closed();
  session.receive(submit(notification()), DEQUEUED, COMPLETED, NOTIFIED, BUSY);
  session.wait(60_000);
  assertEquals(outcomeOf(session), BOTH);
  const vain = closed();
  vain.wait(10_000);
  assertEquals(vain.exit()?.kind, "closed");
});

Deno.test("command waits for the turn that a task end starts", () => {
  const session = rested();
  session.receive(message("one"), submit("one"), BUSY, userLine("one"), LAUNCHED, ENQUEUED);
  session.receive(settledMessage("/x", { kind: "local", text: "Done.", version: VERSION }));
  // The child has not written its answer yet.
  session.receive(stop("done"), submit(notification()));
  assertEquals(session.turns, ["answered, unrecorded"]);
  session.receive(answer("done"), COMPLETED, NOTIFIED, answer("again"), COMPLETED);
  session.receive(stop("again", STOPPED_AT + 1000), COST, IDLE);
  assertEquals(session.turns, ["answered, unrecorded", "answered", "settled"]);
});

Deno.test("message sent at a task end gets the next turn", () => {
  const prompts = [submit(notification()), NOTIFIED];
  for (const first of [prompts, prompts.toReversed()]) {
    const session = rested();
    session.receive(message("hello there", { ticket: "hello" }), submit("hello there"), BUSY);
    session.receive(PROMPT, LAUNCHED, ENQUEUED, ...DONE, { ...COST, ranAt: STOPPED_AT + 1 }, IDLE);
    session.receive(message("and now", { ticket: "now" }), CLOSED, DEQUEUED, COMPLETED, BUSY);
    session.receive(...first, answer("noticed"), stop("noticed", STOPPED_AT + 1000), COST, IDLE);
    session.receive(COMPLETED);
    assertEquals(session.signals, [], "it is in the child's queue");
    session.receive(submit("and now"), BUSY, userLine("and now"), answer("two"));
    session.receive(stop("two", STOPPED_AT + 2000), COST, IDLE, COMPLETED, EXIT);
    assertEquals(session.tickets, [["hello"], []]);
    assertEquals(session.ending?.kind, "answered");
    assertEquals(session.state.taken.map(({ text }) => text), ["and now"]);
  }
});

/** What removed a shell's end from the queue for a subagent: before 2.1.330 no line says so. */
const REMOVED = [{}, { reason: "delivered_to_agent" }].map((reason) =>
  operation("remove", { timestamp: AFTER, content: notification("b2"), ...reason })
);

/** A run whose shell has ended, and whose subagent is over unless it works: its own shell has ended meanwhile. */
function left({ isAtWork = false, ...options }: SimulationOptions & { isAtWork?: boolean } = {}) {
  const session = launched(options);
  const subagent = { agentId: "a1", toolUseId: "t", type: "general-purpose", description: "Look" };
  const { entry } = result({ backgroundTaskId: "b2" });
  session.receive(result({ isAsync: true, agentId: "a1" }));
  session.receive({ type: "subagent", line: { subagent, entry } });
  session.receive(...(isAtWork ? ["b1"] : ["b1", "a1"]).map(enqueued));
  session.receive(DEQUEUED, DEQUEUED, NOTIFIED, enqueued("b2"));
  return session;
}

Deno.test("run waits for a subagent that its shell's end wakes", () => {
  for (const woken of REMOVED) {
    const ends: readonly (readonly Given[])[] = [
      [...DONE, IDLE, woken, COMPLETED],
      [answer("done"), woken, stop("done"), IDLE, COMPLETED],
      [answer("done"), COMPLETED, woken, stop("done"), IDLE],
    ];
    for (const inputs of ends) {
      const session = left();
      session.receive(...inputs);
      session.wait(60_000);
      assertEquals(session.signals, []);
      session.receive(enqueued("a1"), DEQUEUED, BUSY, userLine(notification("a1")));
      assertEquals(outcomeOf(session), { ...BOTH, turns: [] });
    }
    for (const lines of [[IDLE, woken, COMPLETED], [COMPLETED, woken, IDLE]]) {
      const vain = left({ backgroundCeilingMs: 5000 });
      vain.receive(...DONE, ...lines);
      vain.wait(4999);
      assertEquals(vain.signals, []);
      vain.wait(1);
      vain.receive(EXIT);
      const { ending } = vain;
      const unfinished = [{ id: "a1", type: "subagent" }];
      assertEquals(ending?.kind === "answered" ? ending.unfinished : ending, unfinished);
    }
    const atWork = left({ isAtWork: true });
    atWork.receive(woken, ...DONE, IDLE, COMPLETED);
    assertEquals(atWork.signals, ["SIGTERM"], "it was not over, and so is not woken");
  }
});

Deno.test("conversation waits for a subagent woken between turns", () => {
  const session = left({ conversation: true });
  session.receive(...DONE, { ...COST, ranAt: STOPPED_AT + 1 }, IDLE, COMPLETED);
  assertEquals(session.turns, ["answered"]);
  session.receive(...REMOVED.slice(1), CLOSED);
  session.wait(60_000);
  assertEquals(session.signals, []);
});

Deno.test("without hooks the transcript shows the turn that follows", () => {
  const session = launched({ hookless: true });
  const steps = [
    [ENQUEUED, answer("done"), COMPLETED, IDLE],
    [DEQUEUED, COMPLETED, IDLE],
    [BUSY, NOTIFIED, answer("again"), COMPLETED],
  ];
  for (const inputs of steps) {
    session.receive(...inputs);
    assertEquals(session.signals, []);
  }
  session.receive(IDLE);
  assertEquals(session.signals, ["SIGTERM"]);
});

Deno.test("task can end as its time is up", () => {
  const session = launched();
  session.receive(answer("done"), stop("done", STOPPED_AT, SHELL), COMPLETED);
  session.wait(604_990);
  session.receive(ENQUEUED);
  session.wait(1000);
  assertEquals(session.signals, []);
  session.receive(DEQUEUED, NOTIFIED);
  session.wait(60_000);
  assertEquals(outcomeOf(session), { ...BOTH, turns: [] });
});

Deno.test("Stop after a wait for tasks can precede its lines", () => {
  const session = launched();
  session.receive(answer("done"), stop("done", STOPPED_AT, SHELL), COMPLETED, ENQUEUED, DEQUEUED);
  session.receive(stop("again", STOPPED_AT + 300), { ...IDLE, updatedAt: STOPPED_AT + 400 });
  assertEquals(session.signals, [], "the lines of the turn before do not count");
  session.receive(NOTIFIED, answer("again"));
  assertEquals(session.signals, ["SIGTERM"]);
});

Deno.test("hook of a task's end shows that the child is not idle", () => {
  const session = launched();
  session.receive(IDLE);
  session.show("A");
  session.receive(answer("done"), stop("done", STOPPED_AT, SHELL), COMPLETED);
  session.receive(ENQUEUED, submit(notification()));
  session.wait(3000);
  assertEquals([session.signals, session.state.phase], [[], "working"]);
});

Deno.test("prompt from before the last end is none of this turn", () => {
  const prompt = (task: string, timestamp: string) => userLine(notification(task), { timestamp });
  for (const left of [[], [{ id: "b2", type: "shell" }]]) {
    const session = launched();
    session.receive(
      ENQUEUED,
      answer("done"),
      stop("done", STOPPED_AT, SHELL),
      submit(notification()),
    );
    session.receive(stop("again", STOPPED_AT + 1000, ...left), submit(notification("b2")));
    session.receive(stop("third", STOPPED_AT + 2000), COMPLETED, DEQUEUED);
    session.receive(prompt("b1", AFTER), answer("again"), COMPLETED);
    session.receive({ ...IDLE, updatedAt: STOPPED_AT + 2100 });
    assertEquals(session.signals, [], "the lines of the turn before do not count");
    session.receive(prompt("b2", "2026-01-01T00:00:11.100Z"), answer("third"));
    assertEquals(session.signals, ["SIGTERM"]);
  }
});

Deno.test("backgroundWaitMs() is the ceiling, or a shell's own limit", () => {
  const agents = { tasks: [AGENT], ceilingMs: 600_000, shellLimitMs: undefined };
  const shells = { ...agents, tasks: [SHELL, AGENT], ceilingMs: 2500 };
  const rows = [
    [agents, 600_000],
    [{ ...agents, ceilingMs: 0 }, undefined],
    [shells, 605_000],
    [{ ...shells, shellLimitMs: 3000 }, 8000],
    [{ ...shells, shellLimitMs: 3000, ceilingMs: 60_000 }, 60_000],
    [{ ...shells, ceilingMs: 0 }, undefined],
  ] as const;
  for (const [wait, ms] of rows) assertEquals(backgroundWaitMs(wait), ms, JSON.stringify(wait));
});

Deno.test("backgroundTasksOf() accepts payloads of any shape", () => {
  assertEquals(backgroundTasksOf({ background_tasks: [SHELL] }), [SHELL]);
  for (const background_tasks of [undefined, null, "x", {}, [null, 5]]) {
    assertEquals(backgroundTasksOf({ background_tasks }), []);
  }
});

const withTasks = (...background_tasks: readonly object[]) =>
  stopped(undefined, { background_tasks });

/** Checks that the run ends with its tools after this time, and not before. */
const endsAfter = (session: Simulation, ms: number) =>
  assertAfter(ms, session, "signals", [[], ["SIGTERM tree"]]);

Deno.test("subagent is stopped at the ceiling after the last turn", () => {
  const session = run({ backgroundCeilingMs: 10_000 }, PROMPT, withTasks(AGENT));
  session.wait(60_000);
  assertEquals(session.signals, [], "the transcript does not hold the end of the turn yet");
  session.receive(COMPLETED);
  session.wait(9000);
  // Another turn begins, which is not bounded, and the wait after it begins again.
  session.receive(PROMPT);
  session.wait(60_000);
  session.receive(withTasks(AGENT), COMPLETED);
  endsAfter(session, 10_000);
  session.receive(EXIT);
  const payload = withTasks(AGENT).payload;
  assertEquals(session.ending, { kind: "answered", stop: payload, unfinished: [AGENT] });
});

Deno.test("ceiling counts whichever of Stop and turn_duration comes first", () => {
  const options = { backgroundCeilingMs: 10_000 };
  endsAfter(run(options, PROMPT, COMPLETED, withTasks(AGENT)), 10_000);
  const late = [withTasks(AGENT), COMPLETED, PROMPT];
  endsAfter(run(options, BUSY, ...late), 10_000);
});

Deno.test("ceiling of one turn does not bound the next", () => {
  const session = run({ backgroundCeilingMs: 10_000 }, PROMPT, withTasks(AGENT), COMPLETED);
  session.wait(9000);
  session.receive(submit("x"), withTasks(AGENT));
  session.wait(60_000);
  session.receive(PROMPT, COMPLETED);
  endsAfter(session, 10_000);
});

Deno.test("longest limit of a shell extends the ceiling", () => {
  const session = run({ backgroundCeilingMs: 1000 }, PROMPT);
  for (const timeout of [3000, 20_000, 4000]) {
    session.receive(call("t", { run_in_background: true, timeout }));
  }
  session.receive(withTasks(SHELL), COMPLETED);
  endsAfter(session, 25_000);
});

Deno.test("Stop without tasks ends the wait for them", () => {
  const session = run({ backgroundCeilingMs: 1000 }, PROMPT, withTasks(AGENT), COMPLETED);
  session.wait(900);
  session.receive(withTasks(), IDLE, EXIT);
  assertEquals(session.ending, { kind: "answered", stop: withTasks().payload });
});
