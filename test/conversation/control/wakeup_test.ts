import { assertEquals } from "@std/assert";
import { answer, COMPLETED, line, PROMPT, userLine } from "./lines.ts";
import { CLOSED, message } from "./caller_inputs.ts";
import {
  BUSY,
  COST,
  EXIT,
  type Given,
  hook,
  IDLE,
  signal,
  stop as stopped,
  submit,
  VERSION,
} from "./inputs.ts";
import { rested, run, type Simulation, type SimulationOptions } from "./simulation.ts";

/** When the model asks to be woken, by the clock of its lines, and after how many milliseconds. */
const ASKED_AT = Date.parse("2026-01-01T00:00:00.000Z");
const DELAY_MS = 90_000;
/** How much longer `claude -p` waits. */
const GRACE_MS = 120_000;

const outcome = (fields: object) =>
  userLine([{ type: "tool_result", tool_use_id: "t" }], {
    timestamp: new Date(ASKED_AT).toISOString(),
    toolUseResult: { clampedDelaySeconds: 60, wasClamped: false, ...fields },
  });
const SCHEDULED = outcome({ scheduledFor: ASKED_AT + DELAY_MS });
const STOPPED = outcome({ scheduledFor: 0, stopped: true });
const ONCE = { id: "a1b2c3d4", schedule: "2 0 * * *", recurring: false, prompt: "Wake up" };
const stop = (text: string, ...session_crons: readonly object[]) =>
  stopped(text, { background_tasks: [], session_crons });
const WOKEN = userLine("Wake up", { isMeta: true, wakeupSource: "loop_wakeup" });
const OVER = [COST, IDLE, COMPLETED];
const FIRST = [answer("first"), stop("first", ONCE)];

/** A run, or a conversation, whose first turn has begun. */
const begun = (options: SimulationOptions = {}) =>
  run({ version: VERSION, ...options }, BUSY, PROMPT);
const conversation = (options: SimulationOptions = {}) => begun({ conversation: true, ...options });

/** A run whose only turn has had the model woken later, unless its lines say otherwise. */
function asleep(options: SimulationOptions = {}, lines: readonly Given[] = [SCHEDULED]) {
  return told(begun(options), ...lines, ...FIRST, ...OVER);
}

function told(session: Simulation, ...inputs: readonly Given[]): Simulation {
  session.receive(...inputs);
  return session;
}

/** How the turns ended that the child outlived, the signals, and how the run ended, if it has. */
function seen({ turns, signals, ending }: Simulation) {
  return { turns: turns.map((turn) => turn.split(",")[0]), signals, ending: ending?.kind };
}
const WAITS: ReturnType<typeof seen> = { turns: ["answered"], signals: [], ending: undefined };
const ENDED: ReturnType<typeof seen> = {
  turns: ["answered"],
  signals: ["SIGTERM"],
  ending: "answered",
};

Deno.test("run waits for the woken model and ends after it", () => {
  const session = asleep();
  assertEquals(seen(session), WAITS);
  session.wait(DELAY_MS);
  told(session, BUSY, WOKEN, answer("woken"), stop("woken"));
  assertEquals(seen(session), WAITS);
  assertEquals(seen(told(session, ...OVER, EXIT)), ENDED);
});

Deno.test("model is woken right after the turn of a task's end", () => {
  const content = "<task-notification>\n<task-id>b</task-id>\n</task-notification>";
  const queue = (operation: string) =>
    line({ type: "queue-operation", operation, content, timestamp: "2026-01-01T00:00:10.000Z" });
  const session = told(begun(), SCHEDULED, queue("enqueue"), ...FIRST, queue("dequeue"));
  session.receive(userLine(content));
  told(session, answer("second"), stop("second", ONCE), COMPLETED, WOKEN);
  assertEquals([...session.turns, session.state.phase], [
    ...["answered, unrecorded", "answered, unrecorded"],
    "working",
  ]);
});

Deno.test("early hooks of the woken turn start no other", () => {
  for (const early of [[stop("woken")], [submit("Wake up"), stop("woken")]]) {
    const session = asleep();
    session.wait(DELAY_MS);
    told(session, BUSY, ...early, COST, IDLE);
    assertEquals(seen(session), WAITS, "nothing is written");
    assertEquals(seen(told(session, WOKEN, answer("woken"), COMPLETED, EXIT)), ENDED);
  }
});

Deno.test("model can be woken before the turn's end is known", () => {
  const rest = [WOKEN, answer("woken")];
  const rows = [
    [WOKEN, answer("woken"), stop("woken")],
    [submit("Wake up"), ...rest, stop("woken")],
    [stop("woken"), ...rest],
  ] as const;
  for (const [first, ...others] of rows) {
    const session = told(begun(), SCHEDULED, ...FIRST);
    assertEquals(seen(session).turns, []);
    assertEquals(seen(told(session, first)), WAITS);
    assertEquals(seen(told(session, ...others, ...OVER, EXIT)), ENDED);
  }
});

Deno.test("wake-up's line can come after Stop and idle status", () => {
  // The same text came before.
  const session = told(begun(), ...FIRST, COST, IDLE);
  assertEquals(seen(session), { ...WAITS, turns: [] });
  told(session, SCHEDULED, answer("first"));
  assertEquals(seen(session).turns, []);
  assertEquals(seen(told(session, COMPLETED)), WAITS);
});

Deno.test("model can be woken again and again", () => {
  const session = asleep();
  for (const turn of ["a", "b"]) {
    session.wait(DELAY_MS);
    told(session, BUSY, WOKEN, SCHEDULED, answer(turn), stop(turn, ONCE), ...OVER);
  }
  assertEquals(seen(session), { ...WAITS, turns: ["answered", "answered", "answered"] });
});

Deno.test("wake-up that waits in the child's queue has its turn", () => {
  const operation = (operation: string, fields: object = {}) =>
    line({ type: "queue-operation", operation, ...fields });
  const session = told(begun(), SCHEDULED, operation("enqueue", { content: "Wake up" }));
  told(session, answer("first"), stop("first"), ...OVER);
  assertEquals(session.signals, []);
  told(session, submit("Wake up"), operation("dequeue"), BUSY, WOKEN, answer("woken"));
  assertEquals(seen(told(session, stop("woken"), ...OVER, EXIT)), ENDED);
});

Deno.test("run does not wait where nothing wakes the model", () => {
  const ended = { ...ENDED, turns: [], ending: undefined };
  const sessions = [
    ...[asleep({}, []), asleep({}, [SCHEDULED, STOPPED]), asleep({ wakeless: true })],
    told(begun(), SCHEDULED, answer("first"), stop("first"), ...OVER),
  ];
  for (const session of sessions) assertEquals(seen(session), ended);
});

Deno.test("failed turn is followed by a wake-up too", () => {
  const payload = { error: "server_error", last_assistant_message: "API Error" };
  // Another Stop hook can make the turn go on.
  for (const more of [[], FIRST]) {
    const session = told(begun({ otherStopHooks: true }), SCHEDULED, ...more);
    session.receive(answer("API Error"), hook("StopFailure", payload), ...OVER);
    assertEquals(seen(session), { ...WAITS, turns: ["failed"] });
  }
});

Deno.test("last line and idle status of a turn can follow its end", () => {
  const session = told(asleep(), COMPLETED, IDLE);
  session.wait(10_000);
  assertEquals(seen(session), WAITS);
});

Deno.test("run waits 2 min longer for the wake-up", () => {
  const session = asleep();
  session.wait(DELAY_MS + GRACE_MS - 1);
  assertEquals(seen(session), WAITS);
  session.wait(1);
  assertEquals(seen(told(session, EXIT)), { ...ENDED, ending: "closed" });
});

Deno.test("timeout, signal and exit end the wait, silence does not", () => {
  const quiet = asleep({ idleTimeoutMs: 1000 });
  quiet.wait(DELAY_MS);
  assertEquals(seen(quiet), WAITS);
  const timed = asleep({ timeoutMs: 30_000 });
  timed.wait(30_000);
  assertEquals(seen(told(timed, EXIT)).ending, "timeout");
  assertEquals(seen(told(asleep(), signal("SIGTERM"), EXIT)).ending, "interrupted");
  assertEquals(seen(told(asleep(), EXIT)).ending, "exited");
});

Deno.test("closed conversation does not wait for the wake-up", () => {
  const lines = [SCHEDULED, ...FIRST, ...OVER];
  const open = told(conversation(), ...lines);
  assertEquals(seen(open), WAITS);
  assertEquals(seen(told(open, CLOSED, EXIT)), { ...ENDED, ending: "closed" });
  const closed = told(conversation(), CLOSED, ...lines);
  assertEquals(seen(closed), WAITS);
  told(closed, BUSY, WOKEN, answer("woken"), stop("woken"), ...OVER, EXIT);
  assertEquals(seen(closed), ENDED);
  const killed = told(conversation(), CLOSED, ...lines, EXIT);
  assertEquals(seen(killed).ending, "exited", "it was to continue");
  assertEquals(seen(told(conversation(), ...lines, EXIT)).ending, "closed");
});

Deno.test("woken turn's hook can come before the wake-up's line", () => {
  const session = told(conversation(), stop("first", ONCE), submit("Wake up"));
  assertEquals(seen(session), WAITS);
  told(session, SCHEDULED, answer("first"), COMPLETED, WOKEN, answer("woken"), CLOSED);
  assertEquals(seen(told(session, stop("woken"), ...OVER, EXIT)), ENDED);
});

Deno.test("woken turn of a conversation has its own timeout", () => {
  const session = told(conversation({ timeoutMs: 30_000 }), SCHEDULED, ...FIRST, ...OVER);
  session.wait(DELAY_MS);
  told(session, BUSY, WOKEN);
  session.wait(30_000);
  assertEquals(seen(told(session, IDLE, EXIT)).ending, "timeout");
});

const AND_NOW = userLine("and now");
const NEXT = message("and now", { ticket: "now" });
const WOKEN_TURN = [WOKEN, answer("woken"), stop("woken")];
const SECOND_TURN = [answer("second"), stop("second"), ...OVER];

/** A conversation whose first message had the model woken later; the second comes at that time. */
function crossed(more: object = {}): Simulation {
  const session = told(rested(), message("hello there", { ticket: "hello" }));
  told(session, submit("hello there"), BUSY, PROMPT, SCHEDULED, ...FIRST, ...OVER);
  session.wait(DELAY_MS);
  return told(session, { ...NEXT, message: { ...NEXT.message, ...more } });
}

Deno.test("message sent at the wake-up gets the next turn", () => {
  const prompts = [submit("Wake up"), WOKEN];
  for (const more of [{}, { command: "/and" }]) {
    for (const first of [prompts, prompts.toReversed()]) {
      const session = told(crossed(more), BUSY, ...first, ...WOKEN_TURN.slice(1), COST);
      assertEquals(session.tickets, [["hello"]]);
      // The child continues with its queue, and its lines can be late.
      told(session, submit("and now"), COMPLETED, AND_NOW, CLOSED);
      assertEquals(session.tickets, [["hello"], []]);
      told(session, ...SECOND_TURN, EXIT);
      assertEquals(session.delivered, ["hello there", "and now"]);
      assertEquals(session.ending?.kind, "answered");
      assertEquals(session.state.taken.map(({ text }) => text), ["and now"]);
    }
  }
});

Deno.test("message sent at the wake-up can join that turn", () => {
  const attachment = { type: "queued_command", prompt: "and now" };
  const session = told(crossed(), BUSY, submit("Wake up"), WOKEN);
  told(session, line({ type: "attachment", attachment }), answer("both"), stop("both"), ...OVER);
  assertEquals(session.tickets, [["hello"], ["now"]]);
  told(session, CLOSED, EXIT);
  assertEquals([session.delivered.length, session.ending?.kind], [2, "closed"]);
});

Deno.test("closed conversation answers a message sent at the wake-up", () => {
  const session = told(crossed(), CLOSED, submit("Wake up"), BUSY, ...WOKEN_TURN, ...OVER);
  assertEquals([session.turns.length, session.signals], [2, []], "it is in the child's queue");
  told(session, submit("and now"), BUSY, AND_NOW, ...SECOND_TURN, EXIT);
  assertEquals(session.ending?.kind, "answered");
});

Deno.test("message too late for its turn follows the woken turn", () => {
  const session = told(rested(), message("hello there", { ticket: "hello" }));
  told(session, submit("hello there"), BUSY, PROMPT, SCHEDULED, answer("first"), NEXT);
  told(session, stop("first", ONCE), COST, submit("Wake up"), COMPLETED, ...WOKEN_TURN, COST);
  told(session, submit("and now"), COMPLETED, AND_NOW, ...SECOND_TURN);
  assertEquals(session.tickets, [["hello"], [], ["now"]]);
  assertEquals(session.turns.map((turn) => turn.split(",")[0]), Array(3).fill("answered"));
});
