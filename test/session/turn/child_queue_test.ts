import { assertEquals } from "@std/assert";
import { answer, COMPLETED, type HeardLine, line, PROMPT } from "../../transcript/lines.ts";
import { simulate, type Simulation } from "../simulation.ts";

const VERSIONS = ["2.1.285", "2.1.332"] as const;
/** When the Stop hook of the first turn runs, in milliseconds since the epoch. */
const STOPPED_AT = Date.parse("2026-01-01T00:00:10.000Z");
/** Times before that hook and after it. */
const BEFORE = "2026-01-01T00:00:09.900Z";
const AFTER = "2026-01-01T00:00:10.200Z";

const notification = (task = "b1") =>
  `<task-notification>\n<task-id>${task}</task-id>\n<status>completed</status>\n</task-notification>`;
const operation = (operation: string, fields: object = {}) =>
  line({ type: "queue-operation", operation, timestamp: BEFORE, ...fields });
const ENQUEUED = operation("enqueue", { content: notification() });
const DEQUEUED = operation("dequeue", { timestamp: AFTER });
const NOTIFIED = line({ type: "user", message: { content: notification() } });
const result = (toolUseResult: object): HeardLine =>
  line({
    type: "user",
    message: { content: [{ type: "tool_result", tool_use_id: "t" }] },
    toolUseResult,
  });
const LAUNCHED = result({ backgroundTaskId: "b1" });
const stop = (text: string, { at = STOPPED_AT, tasks = [] }: {
  readonly at?: number;
  readonly tasks?: readonly object[];
} = {}) => ({
  type: "hook" as const,
  event: "Stop",
  payload: { last_assistant_message: text, background_tasks: tasks },
  ranAt: at,
});
const IDLE = { type: "status", status: "idle" } as const;
const BUSY = { type: "status", status: "busy" } as const;
const EXIT = { type: "exit", exit: { kind: "exited", code: 143 } } as const;

type Options = Parameters<typeof simulate>[0];

/** A session whose first turn has started a shell in the background. */
function launched(version: string, options: Options = {}): Simulation {
  const session = simulate({ version, ...options });
  for (const input of [PROMPT, BUSY, LAUNCHED]) {
    session.hear(input);
  }
  return session;
}

/** A session whose subagent in the background is over, unless it is at work, and whose shell has ended meanwhile. */
function left(
  version: string,
  { isAtWork = false, ...options }: Options & { readonly isAtWork?: boolean } = {},
): Simulation {
  const session = launched(version, options);
  session.hear(result({ isAsync: true, agentId: "a1" }));
  const shell = result({ backgroundTaskId: "b2" });
  if (shell.type !== "transcript") throw new Error("no line");
  session.hear({
    type: "subagent",
    line: {
      subagent: { agentId: "a1", toolUseId: "t", type: "general-purpose", description: "Look" },
      entry: shell.entry,
    },
  });
  for (const task of isAtWork ? ["b1"] : ["b1", "a1"]) {
    session.hear(operation("enqueue", { content: notification(task) }));
  }
  for (const input of [DEQUEUED, DEQUEUED, NOTIFIED]) session.hear(input);
  session.hear(operation("enqueue", { content: notification("b2") }));
  return session;
}
/** What has left the queue for a subagent, as both versions write it. */
const delivered = (version: string) =>
  operation("remove", {
    timestamp: AFTER,
    content: notification("b2"),
    ...(version === "2.1.332" ? { reason: "delivered_to_agent" } : {}),
  });

/** How the turns ended that the child outlived. */
function turnsOf({ effects }: Simulation): readonly string[] {
  return effects.flatMap((effect) => effect.type === "turn" ? [effect.ending.kind] : []);
}

/** The rest of a run whose second turn has begun: how its only turn but the last ended, and with what the run. */
function outcomeOf(session: Simulation) {
  session.hear(answer("again"));
  session.hear(stop("again", { at: STOPPED_AT + 1000 }));
  session.hear(IDLE);
  session.hear(EXIT);
  const ending = session.ending();
  const text = ending?.kind === "answered" ? ending.stop["last_assistant_message"] : undefined;
  return { turns: turnsOf(session), text, signals: session.signals() };
}

const BOTH = { turns: ["answered"], text: "again", signals: ["SIGTERM"] };

for (const version of VERSIONS) {
  Deno.test(`a turn is not the last one while the end of a task is in the child's queue (${version})`, () => {
    const session = launched(version);
    for (const input of [ENQUEUED, answer("done"), stop("done"), IDLE]) session.hear(input);
    assertEquals([session.signals(), turnsOf(session)], [[], []]);
    for (const input of [DEQUEUED, COMPLETED, IDLE]) session.hear(input);
    assertEquals([session.signals(), turnsOf(session)], [[], []], "the next turn has begun");
    session.hear(NOTIFIED);
    assertEquals(turnsOf(session), ["answered"]);
    session.hear(BUSY);
    session.wait(60_000);
    assertEquals(outcomeOf(session), BOTH);
  });

  Deno.test(`the end of a task may be read after the Stop hook (${version})`, () => {
    const session = launched(version);
    for (const input of [answer("done"), stop("done"), IDLE]) session.hear(input);
    assertEquals(session.signals(), []);
    for (const input of [ENQUEUED, IDLE, DEQUEUED, COMPLETED, NOTIFIED]) session.hear(input);
    assertEquals(outcomeOf(session), BOTH);
  });

  Deno.test(`the line that ends a turn says that no task has ended but those that are known (${version})`, () => {
    const session = launched(version);
    for (const input of [answer("done"), stop("done"), IDLE]) session.hear(input);
    assertEquals(session.signals(), []);
    session.hear(COMPLETED);
    assertEquals(session.signals(), ["SIGTERM"]);
    const silent = launched(version);
    for (const input of [answer("done"), stop("done"), IDLE]) silent.hear(input);
    silent.wait(1500);
    assertEquals(silent.signals(), ["SIGTERM"]);
  });

  Deno.test(`a Stop hook may be heard before any line of its turn is read (${version})`, () => {
    const session = launched(version);
    for (const input of [ENQUEUED, answer("done"), stop("done")]) session.hear(input);
    session.hear(stop("again", { at: STOPPED_AT + 300 }));
    assertEquals(turnsOf(session), ["answered"]);
    for (const input of [DEQUEUED, COMPLETED, IDLE, NOTIFIED]) session.hear(input);
    assertEquals(session.signals(), []);
    session.hear(answer("again"));
    assertEquals(session.signals(), ["SIGTERM"]);
    assertEquals(turnsOf(session), ["answered"]);
  });

  Deno.test(`ends of several tasks start one turn (${version})`, () => {
    const session = launched(version);
    const others = [operation("enqueue", { content: notification("b2") })];
    for (const input of [ENQUEUED, ...others, answer("done"), stop("done")]) session.hear(input);
    for (const input of [DEQUEUED, DEQUEUED, COMPLETED, IDLE]) session.hear(input);
    session.hear(stop("again", { at: STOPPED_AT + 300 }));
    const second = line({ type: "user", message: { content: notification("b2") } });
    for (const input of [NOTIFIED, second, answer("again")]) session.hear(input);
    session.hear({ ...IDLE, updatedAt: STOPPED_AT + 400 });
    session.hear(EXIT);
    assertEquals(turnsOf(session), ["answered"]);
    assertEquals(session.ending()?.kind, "answered");
  });

  Deno.test(`what has left the queue during the turn starts none (${version})`, () => {
    const session = launched(version);
    for (const input of [ENQUEUED, operation("remove"), answer("done"), stop("done"), IDLE]) {
      session.hear(input);
    }
    assertEquals(session.signals(), ["SIGTERM"]);
    // A subagent takes out what is left for it as it ends, before the result of its call.
    const nested = simulate({ version });
    const calls = [{ type: "tool_use", id: "t", name: "Agent", input: {} }];
    for (const input of [PROMPT, answer(calls), ENQUEUED]) nested.hear(input);
    for (const input of [operation("dequeue"), result({ agentId: "a" })]) nested.hear(input);
    for (const input of [answer("done"), stop("done"), IDLE]) nested.hear(input);
    assertEquals(nested.signals(), ["SIGTERM"]);
  });

  Deno.test(`a queue out of which nothing comes is waited for as long as --drain-timeout says (${version})`, () => {
    const session = launched(version);
    for (const input of [ENQUEUED, answer("done"), stop("done"), IDLE]) session.hear(input);
    session.wait(9999);
    assertEquals(session.signals(), []);
    session.wait(1);
    session.hear(EXIT);
    assertEquals([session.ending()?.kind, turnsOf(session)], ["answered", []]);
  });

  Deno.test(`a turn follows one whose request failed too (${version})`, () => {
    const session = launched(version);
    const failure = { error: "unknown", last_assistant_message: "API Error" };
    for (const input of [ENQUEUED, answer("API Error")]) session.hear(input);
    session.hear({ type: "hook", event: "StopFailure", payload: failure, ranAt: STOPPED_AT });
    for (const input of [IDLE, DEQUEUED, NOTIFIED]) session.hear(input);
    assertEquals(outcomeOf(session), { ...BOTH, turns: ["failed"] });
  });

  Deno.test(`a conversation that is closed between turns has the one that follows by itself (${version})`, () => {
    const closed = () => {
      const session = simulate({ version, conversation: true, hasOnStdin: true });
      session.hear({ type: "message", message: { text: "hello there", way: "stdin" } });
      for (const input of [PROMPT, LAUNCHED, ENQUEUED, answer("done")]) session.hear(input);
      session.hear(stop("done"));
      session.hear({ type: "cost", totalUsd: 1, apiDurationMs: 1, ranAt: STOPPED_AT + 1 });
      session.hear(IDLE);
      assertEquals(turnsOf(session), ["answered"]);
      session.hear({ type: "closed" });
      assertEquals(session.signals(), []);
      return session;
    };
    const session = closed();
    session.hear({
      type: "hook",
      event: "UserPromptSubmit",
      payload: { prompt: notification() },
    });
    for (const input of [DEQUEUED, COMPLETED, NOTIFIED, BUSY]) session.hear(input);
    session.wait(60_000);
    assertEquals(outcomeOf(session), BOTH);
    const vain = closed();
    vain.wait(10_000);
    vain.hear(EXIT);
    assertEquals(vain.ending()?.kind, "closed");
  });

  Deno.test(`a message that is sent as the end of a task starts a turn has the next one (${version})`, () => {
    const submit = (prompt: string) =>
      ({ type: "hook", event: "UserPromptSubmit", payload: { prompt } }) as const;
    const cost = { type: "cost", totalUsd: 1, apiDurationMs: 1 } as const;
    const second = [BUSY, line({ type: "user", message: { content: "and now" } }), answer("two")];
    for (const first of [[submit(notification()), NOTIFIED], [NOTIFIED, submit(notification())]]) {
      const session = simulate({ version, conversation: true });
      const tell = (...inputs: readonly Parameters<typeof session.hear>[0][]) =>
        inputs.forEach(session.hear);
      const say = (text: string) =>
        session.hear({ type: "message", message: { text, way: "rendezvous", ticket: text } });
      tell({ type: "reachable" }, IDLE);
      say("hello there");
      tell(submit("hello there"), BUSY, PROMPT, LAUNCHED, ENQUEUED, answer("done"), stop("done"));
      tell({ ...cost, ranAt: STOPPED_AT + 1 }, IDLE);
      say("and now");
      tell({ type: "closed" }, DEQUEUED, COMPLETED, BUSY, ...first, answer("noticed"));
      tell(stop("noticed", { at: STOPPED_AT + 1000 }), cost, IDLE, COMPLETED);
      assertEquals(session.signals(), [], "it is in the child's queue");
      tell(submit("and now"), ...second, stop("two", { at: STOPPED_AT + 2000 }), cost, IDLE);
      tell(COMPLETED, EXIT);
      const tickets = session.effects.flatMap((effect) =>
        effect.type === "turn" ? [effect.tickets] : []
      );
      assertEquals(tickets, [["hello there"], []]);
      const { taken } = session.state();
      assertEquals([session.ending()?.kind, taken.map(({ text }) => text)], ["answered", [
        "and now",
      ]]);
    }
  });

  Deno.test(`a subagent that the end of its shell wakes is waited for, though the last Stop did not name it (${version})`, () => {
    const woken = delivered(version);
    const ends = [
      [answer("done"), stop("done"), IDLE, woken, COMPLETED],
      [answer("done"), woken, stop("done"), IDLE, COMPLETED],
      [answer("done"), COMPLETED, woken, stop("done"), IDLE],
    ];
    for (const inputs of ends) {
      const session = left(version);
      for (const input of inputs) session.hear(input);
      session.wait(60_000);
      assertEquals(session.signals(), []);
      const again = notification("a1");
      session.hear(operation("enqueue", { content: again }));
      session.hear(DEQUEUED);
      for (const input of [BUSY, line({ type: "user", message: { content: again } })]) {
        session.hear(input);
      }
      assertEquals(outcomeOf(session), { ...BOTH, turns: [] });
    }
    const vain = left(version, { backgroundCeilingMs: 5000 });
    for (const input of ends.flat().slice(0, 5)) vain.hear(input);
    vain.wait(4999);
    assertEquals(vain.signals(), []);
    vain.wait(1);
    vain.hear(EXIT);
    const ending = vain.ending();
    assertEquals(
      ending?.kind === "answered" ? ending.unfinished : ending,
      [{ id: "a1", type: "subagent" }],
    );
  });

  Deno.test(`a conversation is not over while a subagent is at work that was woken between turns (${version})`, () => {
    const session = left(version, { conversation: true });
    for (const input of [answer("done"), stop("done")]) session.hear(input);
    session.hear({ type: "cost", totalUsd: 1, apiDurationMs: 1, ranAt: STOPPED_AT + 1 });
    for (const input of [IDLE, COMPLETED]) session.hear(input);
    assertEquals(turnsOf(session), ["answered"]);
    session.hear(delivered(version));
    session.hear({ type: "closed" });
    session.wait(60_000);
    assertEquals(session.signals(), []);
  });

  Deno.test(`a subagent that takes in the end of its shell while it is at work is not woken (${version})`, () => {
    const session = left(version, { isAtWork: true });
    for (const input of [delivered(version), answer("done"), stop("done"), IDLE, COMPLETED]) {
      session.hear(input);
    }
    assertEquals(session.signals(), ["SIGTERM"]);
  });

  Deno.test(`where hooks are turned off, the transcript tells of a turn that follows (${version})`, () => {
    const session = launched(version, { hookless: true });
    for (const input of [ENQUEUED, answer("done"), COMPLETED, IDLE]) session.hear(input);
    assertEquals(session.signals(), []);
    for (const input of [DEQUEUED, COMPLETED, IDLE]) session.hear(input);
    assertEquals(session.signals(), []);
    for (const input of [BUSY, NOTIFIED, answer("again"), COMPLETED]) session.hear(input);
    assertEquals(session.signals(), []);
    session.hear(IDLE);
    assertEquals(session.signals(), ["SIGTERM"]);
  });
}

Deno.test("a turn follows one that was stopped at its limit of requests", () => {
  const session = launched("2.1.332", { maxTurns: 1 });
  session.hear(ENQUEUED);
  session.hear({ type: "hook", event: "PostToolBatch", payload: {}, ranAt: STOPPED_AT });
  for (const input of [COMPLETED, IDLE]) session.hear(input);
  assertEquals(session.signals(), []);
  // The hook of the next turn's tools may be heard before a line of it is read.
  session.hear({ type: "hook", event: "PostToolBatch", payload: {}, ranAt: STOPPED_AT + 300 });
  assertEquals(turnsOf(session), ["max-turns"]);
  for (const input of [DEQUEUED, NOTIFIED, IDLE]) session.hear(input);
  session.hear(EXIT);
  assertEquals(session.ending(), { kind: "max-turns" });
});

Deno.test("what runs in the background may end as its time is up, and starts a turn all the same", () => {
  const session = launched("2.1.285");
  const tasks = [{ id: "b1", type: "shell" }];
  for (const input of [answer("done"), stop("done", { tasks })]) {
    session.hear(input);
  }
  session.hear(COMPLETED);
  session.wait(604_990);
  session.hear(ENQUEUED);
  session.wait(1000);
  assertEquals(session.signals(), []);
  for (const input of [DEQUEUED, NOTIFIED]) session.hear(input);
  session.wait(60_000);
  assertEquals(outcomeOf(session), { ...BOTH, turns: [] });
});

Deno.test("after a wait for tasks, too, a Stop hook may be heard before any line of its turn is read", () => {
  const session = launched("2.1.285");
  const tasks = [{ id: "b1", type: "shell" }];
  for (const input of [answer("done"), stop("done", { tasks }), COMPLETED]) {
    session.hear(input);
  }
  for (const input of [ENQUEUED, DEQUEUED]) session.hear(input);
  session.hear(stop("again", { at: STOPPED_AT + 300 }));
  session.hear({ ...IDLE, updatedAt: STOPPED_AT + 400 });
  assertEquals(session.signals(), [], "what the turn before it left on record is none of its own");
  for (const input of [NOTIFIED, answer("again")]) session.hear(input);
  assertEquals(session.signals(), ["SIGTERM"]);
});
