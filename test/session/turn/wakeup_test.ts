import { assertEquals } from "@std/assert";
import type { Message } from "../../../src/session/message.ts";
import { answer, COMPLETED, line, PROMPT } from "../../transcript/lines.ts";
import { simulate, type Simulation } from "../simulation.ts";

/** When the model asks to be woken, by the clock of its lines, and in how many milliseconds it is. */
const ASKED_AT = Date.parse("2026-01-01T00:00:00.000Z");
const DELAY_MS = 90_000;
/** How long `claude -p` waits beyond that. */
const GRACE_MS = 120_000;

const outcome = (fields: object) =>
  line({
    type: "user",
    message: { content: [{ type: "tool_result", tool_use_id: "t" }] },
    timestamp: new Date(ASKED_AT).toISOString(),
    toolUseResult: { clampedDelaySeconds: 60, wasClamped: false, ...fields },
  });
const SCHEDULED = outcome({ scheduledFor: ASKED_AT + DELAY_MS });
const STOPPED = outcome({ scheduledFor: 0, stopped: true });
const ONCE = { id: "a1b2c3d4", schedule: "2 0 * * *", recurring: false, prompt: "Wake up" };
const stop = (text: string, crons: readonly object[] = []) => ({
  type: "hook" as const,
  event: "Stop",
  payload: { last_assistant_message: text, background_tasks: [], session_crons: crons },
});
const submit = (prompt: string) =>
  ({ type: "hook", event: "UserPromptSubmit", payload: { prompt } }) as const;
const WOKEN = line({
  type: "user",
  message: { content: "Wake up" },
  isMeta: true,
  wakeupSource: "loop_wakeup",
});
const COST = { type: "cost", totalUsd: 0.1, apiDurationMs: 5, modelUsage: {} } as const;
const IDLE = { type: "status", status: "idle" } as const;
const BUSY = { type: "status", status: "busy" } as const;
const EXIT = { type: "exit", exit: { kind: "exited", code: 143 } } as const;
const CLOSED = { type: "closed" } as const;

type Heard = Parameters<Simulation["hear"]>[0];

function told(session: Simulation, ...inputs: readonly Heard[]): Simulation {
  for (const input of inputs) session.hear(input);
  return session;
}

/** A run whose only turn has had the model woken later, unless its lines say otherwise. */
function asleep(
  options: Parameters<typeof simulate>[0] = {},
  lines: readonly Heard[] = [SCHEDULED],
): Simulation {
  const session = simulate({ version: "2.1.332", ...options });
  return told(
    session,
    ...[PROMPT, BUSY, ...lines, answer("first"), stop("first", [ONCE]), COST, IDLE, COMPLETED],
  );
}

/** How the turns ended that the child outlived, and how the run, as far as they have. */
interface Seen {
  readonly turns: readonly string[];
  readonly signals: readonly string[];
  readonly ending: string | undefined;
}

function seen(session: Simulation): Seen {
  const turns = session.effects.flatMap((effect) =>
    effect.type === "turn" ? [effect.ending.kind] : []
  );
  return { turns, signals: session.signals(), ending: session.ending()?.kind };
}

const WAITS: Seen = { turns: ["answered"], signals: [], ending: undefined };
const OVER: Seen = { turns: ["answered"], signals: ["SIGTERM"], ending: "answered" };

Deno.test("a run waits for the model to be woken, and ends with the turn of that", () => {
  const session = asleep();
  assertEquals(seen(session), WAITS);
  session.wait(DELAY_MS);
  told(session, BUSY, WOKEN, answer("woken"), stop("woken"));
  assertEquals(seen(session), WAITS);
  told(session, COST, IDLE, COMPLETED, EXIT);
  assertEquals(seen(session), OVER);
});

Deno.test("what is heard of the turn before its lines makes no further one of them", () => {
  for (const early of [[stop("woken")], [submit("Wake up"), stop("woken")]]) {
    const session = asleep();
    session.wait(DELAY_MS);
    told(session, BUSY, ...early, COST, IDLE);
    assertEquals(seen(session), WAITS, "nothing is on record");
    told(session, WOKEN, answer("woken"), COMPLETED, EXIT);
    assertEquals(seen(session), OVER);
  }
});

Deno.test("the model may be woken as soon as the turn is over, before that is known", () => {
  for (const first of [WOKEN, submit("Wake up"), stop("woken")]) {
    const session = simulate({ version: "2.1.332" });
    told(session, PROMPT, BUSY, SCHEDULED, answer("first"), stop("first", [ONCE]));
    assertEquals(seen(session).turns, []);
    told(session, first);
    assertEquals(seen(session), WAITS);
    const rest = [WOKEN, answer("woken"), stop("woken")].filter((each) => each !== first);
    told(session, ...rest.filter((each) => first.type !== "hook" || each.type !== "hook"));
    if (first.type === "hook" && first.event === "UserPromptSubmit") told(session, stop("woken"));
    told(session, COST, IDLE, COMPLETED, EXIT);
    assertEquals(seen(session), OVER);
  }
});

Deno.test("lines that are read after the Stop hook and the idle status tell of it too", () => {
  const session = simulate({ version: "2.1.332" });
  // As if the same had been said before.
  told(session, PROMPT, BUSY, answer("first"), stop("first", [ONCE]), COST, IDLE);
  assertEquals(seen(session), { turns: [], signals: [], ending: undefined });
  told(session, SCHEDULED, answer("first"));
  assertEquals(seen(session).turns, []);
  told(session, COMPLETED);
  assertEquals(seen(session), WAITS);
});

Deno.test("the model may have itself woken again and again", () => {
  const session = asleep();
  for (const turn of ["a", "b"]) {
    session.wait(DELAY_MS);
    told(session, BUSY, WOKEN, SCHEDULED, answer(turn), stop(turn, [ONCE]), COST, IDLE, COMPLETED);
  }
  assertEquals(seen(session), { ...WAITS, turns: ["answered", "answered", "answered"] });
});

Deno.test("a prompt that comes once and does not wake the model is not waited for", () => {
  for (const lines of [[], [SCHEDULED, STOPPED]]) {
    const session = asleep({}, lines);
    assertEquals(seen(session), { turns: [], signals: ["SIGTERM"], ending: undefined });
  }
  // It is off, or Claude Code does not know of any more.
  const other = told(
    simulate({ version: "2.1.332" }),
    ...[PROMPT, BUSY, SCHEDULED, answer("first"), stop("first"), COST, IDLE, COMPLETED],
  );
  assertEquals(seen(other).signals, ["SIGTERM"]);
  assertEquals(seen(asleep({ wakeless: true })).signals, ["SIGTERM"]);
});

Deno.test("a turn that failed is waited behind too", () => {
  const session = simulate({ version: "2.1.332" });
  const payload = { error: "server_error", last_assistant_message: "API Error" };
  told(session, PROMPT, BUSY, SCHEDULED, answer("API Error"));
  told(session, { type: "hook", event: "StopFailure", payload }, COST, IDLE, COMPLETED);
  assertEquals(seen(session), { ...WAITS, turns: ["failed"] });
});

Deno.test("a model that is never woken is waited for as long as by claude -p", () => {
  const session = asleep();
  session.wait(DELAY_MS + GRACE_MS - 1);
  assertEquals(seen(session), WAITS);
  session.wait(1);
  told(session, EXIT);
  assertEquals(seen(session), { ...OVER, ending: "closed" });
});

Deno.test("nothing but the wall clock, a signal and the child's end cut that wait short", () => {
  const quiet = asleep({ idleTimeoutMs: 1000 });
  quiet.wait(DELAY_MS);
  assertEquals(seen(quiet), WAITS);
  const timed = asleep({ timeoutMs: 30_000 });
  timed.wait(30_000);
  told(timed, EXIT);
  assertEquals(seen(timed).ending, "timeout");
  const signalled = told(asleep(), { type: "signal", signal: "SIGTERM" }, EXIT);
  assertEquals(seen(signalled).ending, "interrupted");
  assertEquals(seen(told(asleep(), EXIT)).ending, "exited");
});

Deno.test("a conversation whose caller says no more behind a turn ends without waiting", () => {
  const lines = [SCHEDULED, answer("first"), stop("first", [ONCE]), COST, IDLE, COMPLETED];
  const conversation = () =>
    told(simulate({ version: "2.1.332", conversation: true }), BUSY, PROMPT);
  const open = told(conversation(), ...lines);
  assertEquals(seen(open), WAITS);
  told(open, CLOSED, EXIT);
  assertEquals(seen(open), { ...OVER, ending: "closed" });
  const closed = told(conversation(), CLOSED, ...lines);
  assertEquals(seen(closed), WAITS);
  const woken = told(closed, BUSY, WOKEN, answer("woken"), stop("woken"), COST, IDLE, COMPLETED);
  assertEquals(seen(told(woken, EXIT)), OVER);
  const killed = told(conversation(), CLOSED, ...lines, EXIT);
  assertEquals(seen(killed).ending, "exited", "it was to go on");
  assertEquals(seen(told(conversation(), ...lines, EXIT)).ending, "closed");
});

Deno.test("a hook may tell of the woken model before any line tells that it was to be woken", () => {
  const session = simulate({ version: "2.1.332", conversation: true });
  told(session, BUSY, PROMPT, stop("first", [ONCE]), submit("Wake up"));
  assertEquals(seen(session), WAITS);
  told(session, SCHEDULED, answer("first"), COMPLETED, WOKEN, answer("woken"), CLOSED);
  told(session, stop("woken"), COST, IDLE, COMPLETED, EXIT);
  assertEquals(seen(session), OVER);
});

Deno.test("in a conversation the turn of the woken model has a time of its own", () => {
  const session = simulate({ version: "2.1.332", conversation: true, timeoutMs: 30_000 });
  told(session, BUSY, PROMPT, SCHEDULED, answer("first"), stop("first", [ONCE]), COST, IDLE);
  told(session, COMPLETED);
  session.wait(DELAY_MS);
  told(session, BUSY, WOKEN);
  session.wait(30_000);
  told(session, IDLE, EXIT);
  assertEquals(seen(session).ending, "timeout");
});

/** A conversation whose first message has had the model woken later, and the second comes as it is. */
function crossed(command?: string): Simulation {
  const session = simulate({ version: "2.1.332", conversation: true });
  const say = (text: string, more: object = {}) =>
    session.hear({
      type: "message",
      message: { text, way: "rendezvous", ticket: text, ...more } as Message,
    });
  told(session, { type: "reachable" }, IDLE);
  say("hello there");
  told(session, submit("hello there"), BUSY, PROMPT, SCHEDULED, answer("first"));
  told(session, stop("first", [ONCE]), COST, IDLE, COMPLETED);
  session.wait(DELAY_MS);
  say("and now", command === undefined ? {} : { command });
  return session;
}

/** The turns, and whose each was. */
function turnsOf({ effects }: Simulation) {
  return effects.flatMap((effect) =>
    effect.type === "turn" ? [[effect.ending.kind, ...effect.tickets]] : []
  );
}

const delivered = ({ effects }: Simulation) =>
  effects.flatMap((effect) => effect.type === "deliver" ? [effect.prompt] : []);

const AND_NOW = line({ type: "user", message: { content: "and now" } });

Deno.test("a message that is sent as the model is woken has a turn of its own behind that", () => {
  for (const command of [undefined, "/and"]) {
    for (const first of [[submit("Wake up"), WOKEN], [WOKEN, submit("Wake up")]]) {
      const session = told(crossed(command), BUSY, ...first, answer("woken"), stop("woken"), COST);
      assertEquals(turnsOf(session), [["answered", "hello there"]]);
      // The child goes on with what it has in its queue, and its lines may be late.
      told(session, submit("and now"), COMPLETED, AND_NOW, CLOSED);
      assertEquals(turnsOf(session), [["answered", "hello there"], ["answered"]]);
      told(session, answer("second"), stop("second"), COST, IDLE, COMPLETED, EXIT);
      assertEquals(delivered(session), ["hello there", "and now"]);
      const { ending, state } = { ending: session.ending(), state: session.state() };
      assertEquals([ending?.kind, state.taken.map(({ text }) => text)], ["answered", ["and now"]]);
    }
  }
});

Deno.test("a message that is sent as the model is woken may become a part of that turn", () => {
  const joined = line({
    type: "attachment",
    attachment: { type: "queued_command", prompt: "and now" },
  });
  const session = told(crossed(), BUSY, submit("Wake up"), WOKEN, joined, answer("both"));
  told(session, stop("both"), COST, IDLE, COMPLETED);
  assertEquals(turnsOf(session), [["answered", "hello there"], ["answered", "and now"]]);
  told(session, CLOSED, EXIT);
  assertEquals([delivered(session).length, session.ending()?.kind], [2, "closed"]);
});

Deno.test("nobody is to say more, and what was sent as the model was woken is still answered", () => {
  const session = told(crossed(), CLOSED, submit("Wake up"), BUSY, WOKEN, answer("woken"));
  told(session, stop("woken"), COST, IDLE, COMPLETED);
  assertEquals([turnsOf(session).length, session.signals()], [2, []], "it is in the child's queue");
  told(session, submit("and now"), BUSY, AND_NOW, answer("second"), stop("second"), COST, IDLE);
  told(session, COMPLETED, EXIT);
  assertEquals(session.ending()?.kind, "answered");
});

Deno.test("a message that came too late for its turn is not the one for which the model is woken", () => {
  const session = simulate({ version: "2.1.332", conversation: true });
  const say = (text: string) =>
    session.hear({ type: "message", message: { text, way: "rendezvous", ticket: text } });
  told(session, { type: "reachable" }, IDLE);
  say("hello there");
  told(session, submit("hello there"), BUSY, PROMPT, SCHEDULED, answer("first"));
  say("and now");
  told(session, stop("first", [ONCE]), COST, submit("Wake up"), COMPLETED, WOKEN, answer("woken"));
  told(session, stop("woken"), COST, submit("and now"), COMPLETED, AND_NOW, answer("second"));
  told(session, stop("second"), COST, IDLE, COMPLETED);
  assertEquals(turnsOf(session), [
    ["answered", "hello there"],
    ["answered"],
    ["answered", "and now"],
  ]);
});
