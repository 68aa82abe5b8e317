import { assertEquals } from "@std/assert";
import { untakenMessages } from "../../../src/conversation/control/taken_prompts.ts";
import { answer, COMPLETED, line, userLine } from "./lines.ts";
import { CLOSED, message, request, settledMessage } from "./caller_inputs.ts";
import {
  BUSY,
  COST,
  EXIT,
  hook,
  IDLE,
  REACHABLE,
  READ,
  signal,
  stop,
  submit,
  turn,
  VERSION,
} from "./inputs.ts";
import { assertAfter, rested, run, type Simulation } from "./simulation.ts";

const CRASH = { type: "exit", exit: { kind: "signaled", signal: 9 } } as const;
const LOCAL = { kind: "local", text: "x", version: VERSION } as const;
const LATER = { priority: "later" } as const;

/** A conversation whose child has begun the turn of "one". */
function begun(): Simulation {
  const session = rested({}, message("one", { ticket: "one" }), submit("one"), BUSY);
  return session;
}

/** A conversation whose first turn, "one", is over. */
function afterTurn(): Simulation {
  const session = rested({}, message("one"), ...turn("one"), IDLE, COST);
  return session;
}

const lines = (text: string) => [userLine(text), answer(`${text}!`)];
const untaken = ({ state }: Simulation) => untakenMessages(state).map(({ text }) => text);
const phaseAndTurns = ({ state, turns }: Simulation) => [state.phase, ...turns];

Deno.test("child without a message rests without a limit", () => {
  const session = rested();
  session.wait(1e9);
  const { length } = session.effects;
  for (const name of ["record", "shells", "compaction", "priced", "beat"] as const) {
    session.receive({ type: "deadline", name }, READ);
  }
  assertEquals(session.effects.length, length);
  assertEquals([session.state.phase, session.ending, session.signals], ["resting", undefined, []]);
  session.receive(message("one"));
  assertEquals([session.state.phase, session.delivered], ["entered", ["one"]]);
});

Deno.test("child rests once its turn is written and paid", () => {
  const session = rested({}, message("one"), ...turn("one"), IDLE);
  assertEquals(session.turns, []);
  session.receive(COST);
  session.wait(1e9);
  assertEquals([phaseAndTurns(session), session.signals], [["resting", "answered"], []]);
  session.receive(CLOSED);
  assertEquals(session.signals, ["SIGTERM"]);
  assertEquals(session.exit()?.kind, "closed");
  const altered = begun();
  altered.receive(userLine("one, and more"), answer("one!"), stop("one!"), IDLE, COST);
  assertEquals(altered.of("turn").map(({ unwritten }) => unwritten), [undefined]);
});

Deno.test("harmless keys ask for the cost at Stop", () => {
  const session = rested({}, message("one"));
  assertEquals(session.typed, "");
  session.receive(...turn("one"));
  assertEquals(session.typed, "?\x7f");
  const last = rested({}, message("one"), CLOSED, ...turn("one"));
  assertEquals(last.typed, "", "nothing reports the cost of the last turn");
  assertEquals(run({ keptAtEnd: true, prompt: "one" }, ...turn("one")).typed, "");
});

Deno.test("status line from before the Stop hook does not count", () => {
  const session = begun();
  session.receive(...lines("one"), { ...stop("one!"), ranAt: 1000 }, IDLE, { ...COST, ranAt: 999 });
  assertEquals(session.turns, []);
  session.receive({ ...COST, ranAt: 1000 });
  assertEquals(session.turns, ["answered"]);
});

Deno.test("waits for the cost of a turn are bounded", () => {
  const session = rested({}, message("one"), ...turn("one"), IDLE);
  session.wait(2000);
  assertEquals(phaseAndTurns(session), ["resting", "answered"]);
  const next = rested({ otherStopHooks: true });
  next.receive(message("one"), submit("one"), BUSY, message("two"), stop("one!", {}, "stop-1"));
  assertAfter(5000, next, "answered", [[], ["stop-1"]]);
});

Deno.test("last turn ends once the child is idle", () => {
  const session = rested({}, message("one"), CLOSED, ...turn("one", "stop-1"));
  // The hook ends only after its answer.
  assertEquals([session.answered, session.signals], [["stop-1"], []]);
  session.receive(IDLE);
  assertEquals([session.turns, session.signals], [[], ["SIGTERM"]]);
  const late = rested({}, message("one"), ...turn("one", "stop-1"), CLOSED);
  assertEquals(late.signals, []);
  late.receive(IDLE);
  assertEquals([late.turns, late.signals], [[], ["SIGTERM"]]);
  const unasked = rested({ keptAtEnd: true }, message("one"), CLOSED, ...turn("one"));
  assertEquals([unasked.turns, unasked.signals], [[], ["SIGTERM"]], "its hook needs no answer");
});

Deno.test("messages of a turn are delivered once it has begun", () => {
  const session = rested({}, message("one"), message("two"));
  assertEquals(session.delivered, ["one"]);
  session.receive(submit("one"));
  assertEquals(session.delivered, ["one", "two"]);
  session.receive(message("later", LATER), message("three"));
  assertEquals(session.delivered, ["one", "two", "three"]);
});

Deno.test("messages from before a turn share the next turn", () => {
  const session = rested();
  const texts = ["one", "two", "three"];
  session.receive(...texts.map((text) => message(text, { ticket: text })), submit("one"), BUSY);
  assertEquals(session.delivered, texts);
  session.receive(stop("one!", {}, "stop-1"), ...lines("one"), COST);
  session.receive(submit("two"), submit("three"), userLine("two"), userLine("three"));
  session.receive(answer("both!"), stop("both!", {}, "stop-2"), IDLE, COST);
  assertEquals(session.tickets, [["one"], ["two", "three"]]);
});

Deno.test("child's own next turn waits for the cost", () => {
  const session = begun();
  session.receive(message("two"), ...lines("one"), stop("one!", {}, "stop-1"));
  assertEquals(session.answered, []);
  session.receive(COST);
  assertEquals(session.answered, ["stop-1"]);
  session.receive(submit("two"));
  assertEquals(phaseAndTurns(session), ["working", "answered, unrecorded"]);
  // The end of the first turn is written after the second has begun.
  session.receive(COMPLETED, ...lines("two"), stop("two!", {}, "stop-2"));
  assertEquals(session.answered, ["stop-1", "stop-2"]);
  session.receive(IDLE, COST);
  assertEquals(phaseAndTurns(session), ["resting", "answered, unrecorded", "answered"]);
});

Deno.test("turn whose last line is read waits for no more", () => {
  const session = begun();
  session.receive(message("two"), ...lines("one"), stop("one!"), COMPLETED, submit("two"));
  assertEquals(phaseAndTurns(session), ["working", "answered"]);
});

Deno.test("late last line does not complete the next turn", () => {
  const session = rested({}, message("one"), ...turn("one"), IDLE, COST);
  session.receive(message("two"), COMPLETED, submit("<task-notification>"), stop("done"));
  session.receive(submit("two"));
  assertEquals(session.turns, ["answered", "answered, unrecorded"]);
  const tasks = { background_tasks: [{ id: "b", type: "shell" }] };
  const other = begun();
  other.receive(...lines("one"), stop("one!", tasks), COMPLETED, submit("<task-notification>"));
  other.receive(message("two"), stop("again!"), submit("two"));
  assertEquals(other.turns, ["answered, unrecorded"]);
});

Deno.test("late line of a task's end is not the next prompt", () => {
  const notification = "<task-notification>\n<task-id>b</task-id>\n</task-notification>";
  const session = afterTurn();
  session.receive(message("two"), submit(notification), stop("again!"));
  session.receive(submit("two"), stop("two!"), IDLE, COST);
  session.receive(...lines(notification), answer("again!"), COMPLETED);
  const before = ["answered", "answered, unrecorded"];
  assertEquals(phaseAndTurns(session), ["settling", ...before]);
  session.receive(...lines("two"), COMPLETED);
  assertEquals(phaseAndTurns(session), ["resting", ...before, "answered"]);
});

Deno.test("patient messages are delivered together before Stop is answered", () => {
  const session = begun();
  for (const text of ["two", "three"]) session.receive(message(text, { ...LATER, ticket: text }));
  session.receive(...lines("one"));
  assertEquals(session.delivered, ["one"]);
  session.receive(stop("one!", {}, "stop-1"));
  assertEquals([session.delivered, session.answered], [["one", "two", "three"], []]);
  session.receive(COST);
  assertEquals(session.answered, ["stop-1"]);
  session.receive(submit("two"), submit("three"), BUSY, userLine("two"), userLine("three"));
  session.receive(answer("both!"), stop("both!", {}, "stop-2"), IDLE, COST);
  assertEquals(phaseAndTurns(session), ["resting", "answered, unrecorded", "answered"]);
  assertEquals(session.tickets, [["one"], ["two", "three"]]);
});

Deno.test("single patient message goes to a child that rests", () => {
  for (const others of [[], [message("/init", { ...LATER, way: "paste", command: "/init" })]]) {
    const session = begun();
    session.receive(message("two", LATER), ...others, ...lines("one"), stop("one!", {}, "stop-1"));
    assertEquals([session.delivered, session.answered], [["one"], ["stop-1"]]);
  }
});

Deno.test("same text twice is two messages", () => {
  const session = rested();
  const [prompt, text] = lines("again");
  session.receive(message("again"), submit("again"), message("again"), stop("again!", {}, "s"));
  session.receive(...lines("again"));
  assertEquals([session.turns, session.state.sent.length], [[], 1]);
  session.receive(COST, submit("again"));
  assertEquals([session.turns, session.state.sent.length], [["answered"], 0]);
  for (const each of [prompt, text]) if (each !== undefined) session.receive(each);
  session.receive(stop("again!"), IDLE, COST);
  assertEquals(phaseAndTurns(session), ["resting", "answered", "answered"]);
});

Deno.test("message that joined the turn before is not of the next", () => {
  const session = begun();
  session.receive(message("two"), stop("one!"), submit("<task-notification>"));
  session.receive(
    line({ type: "attachment", attachment: { type: "queued_command", prompt: "two" } }),
  );
  assertEquals([session.state.sent, session.state.taken], [[], []]);
});

Deno.test("message that joined the turn is not waited for", () => {
  const session = begun();
  // The transcript alone shows it.
  const joined = { type: "queued_command", prompt: "two" };
  session.receive(message("two"), line({ type: "attachment", attachment: joined }));
  session.receive(userLine("one"), answer("both!"), stop("both!"), IDLE, COST);
  assertEquals(phaseAndTurns(session), ["resting", "answered"]);
});

Deno.test("urgent messages come first, patient ones last", () => {
  const session = run({ conversation: true, version: VERSION }, REACHABLE);
  for (const [text, priority] of [["a", "now"], ["c", "later"], ["b", "next"]] as const) {
    session.receive(message(text, { priority }));
  }
  session.receive(IDLE);
  for (const text of ["a", "b", "c"]) session.receive(...turn(text), IDLE, COST);
  assertEquals(session.delivered, ["a", "b", "c"]);
});

Deno.test("first message stays first while the child starts", () => {
  const session = run({ conversation: true, version: VERSION }, REACHABLE);
  session.receive(message("a", LATER), message("d", LATER), message("b"), message("c"));
  assertEquals(session.state.queue.map(({ text }) => text), ["a", "b", "c", "d"]);
  session.receive(IDLE);
  assertEquals(session.delivered, ["a"]);
});

Deno.test("message without a child has its turn in place", () => {
  const session = rested();
  const refused = settledMessage("/login", { kind: "refused", message: "No", suggestion: "x" });
  session.receive(hook("SessionStart"), message("one"), refused, message("two"));
  assertEquals([session.turns, session.delivered], [[], ["one"]]);
  session.receive(...turn("one"), IDLE, COST);
  assertEquals([session.turns, session.delivered], [["answered", "settled"], ["one", "two"]]);
});

Deno.test("message without a child waits 5 s for the start", () => {
  const session = run({ conversation: true }, settledMessage("/x", LOCAL), CLOSED, IDLE);
  // By that hook the child reports its model.
  assertEquals(session.turns, []);
  session.receive(hook("SessionStart", {}, "start"));
  assertEquals([session.turns, session.answered], [["settled"], ["start"]]);
  assertEquals(session.signals, ["SIGTERM"]);
  const hookless = rested({}, settledMessage("/x", LOCAL));
  assertAfter(5000, hookless, "turns", [[], ["settled"]]);
});

Deno.test("message during background tasks is a turn of its own", () => {
  // There is no turn that an interrupt or an urgent message could stop: Escape would hit the next one.
  for (const more of [[], [request("interrupt")], [message("now", { priority: "now" })]]) {
    const session = begun();
    session.receive(stop(undefined, { background_tasks: [{ type: "shell" }] }, "stop-1"));
    // The child's status says that a shell runs.
    session.receive(userLine("one"), COMPLETED, { ...IDLE, status: "shell" }, COST);
    assertEquals(session.answered, ["stop-1"]);
    session.receive(...more, message("two"));
    const next = more[0]?.type === "message" ? "now" : "two";
    assertEquals([session.delivered, session.state.phase], [["one", next], "entered"]);
  }
});

Deno.test("patient message follows a turn with early lines", () => {
  const session = begun();
  session.receive(userLine("one"), message("two", LATER), COMPLETED);
  assertEquals(session.delivered, ["one"]);
  session.receive(stop(undefined, { background_tasks: [{ type: "shell" }] }));
  assertEquals([session.delivered, session.state.phase], [["one", "two"], "entered"]);
});

Deno.test("timeout of a conversation is that of each turn", () => {
  const session = rested({ timeoutMs: 60_000 });
  session.wait(1e6);
  session.receive(message("one"), submit("one"), BUSY);
  session.wait(59_999);
  assertEquals(session.typed, "");
  session.wait(1);
  assertEquals([session.typed, session.state.phase], [".\x1b", "interrupting"]);
});

Deno.test("time left of a message bounds all later turns", () => {
  const session = rested({ timeoutMs: 60_000 });
  session.receive(message("one", { timeLeftMs: 5000 }), ...turn("one"), IDLE, COST);
  assertEquals(session.turns, ["answered"]);
  assertAfter(5000, session, "signals", [[], ["SIGTERM tree"]]);
  assertEquals(session.exit(), { kind: "timeout" });
});

Deno.test("child without a socket ends the conversation", () => {
  const options = { conversation: true, version: VERSION } as const;
  const session = run(options, IDLE, message("one"));
  assertAfter(10_000, session, "signals", [[], ["SIGTERM tree"]]);
  assertEquals([session.delivered, session.exit()], [[], { kind: "unreachable" }]);
  const late = run(options, IDLE, message("one"));
  late.wait(9999);
  late.receive(REACHABLE);
  assertEquals(late.delivered, ["one"]);
  late.wait(1000);
  assertEquals(late.signals, []);
});

Deno.test("messages that a crashed child had not taken are kept", () => {
  const idle = afterTurn();
  idle.receive(CRASH);
  assertEquals([idle.turns, idle.ending?.kind], [["answered"], "closed"]);
  const rests = afterTurn();
  rests.receive(message("two"), CRASH);
  assertEquals([untaken(rests), rests.ending?.kind], [["two"], "closed"]);
  const fresh = rested({}, message("two"), message("three", LATER), CRASH);
  assertEquals([untaken(fresh), fresh.ending?.kind], [["three"], "exited"], "it never took any");
  const works = begun();
  works.receive(message("two"), message("three", LATER), CRASH);
  assertEquals([untaken(works), works.ending?.kind], [["two", "three"], "exited"]);
});

Deno.test("signal after an announced end stops the next message", () => {
  const session = begun();
  session.receive(message("two"), ...lines("one"), stop("one!"), signal("SIGTERM"));
  assertEquals(session.turns, ["answered, unrecorded"]);
  assertEquals(session.exit(), { kind: "interrupted", signal: "SIGTERM" });
  assertEquals(untaken(session), []);
});

Deno.test("unreadable input ends the child and its tools", () => {
  for (const session of [rested(), begun()]) {
    session.receive({ type: "unreadable", reason: "it is no JSON" });
    assertEquals(session.signals, ["SIGTERM tree"]);
    assertEquals(session.exit()?.kind, "unreadable");
  }
});

Deno.test("unreadable input lets no other child follow", () => {
  const session = rested({}, message("@a", { unread: true }));
  session.receive({ type: "unreadable", reason: "it is no JSON" });
  assertEquals([session.exit()?.kind, untaken(session)], ["unreadable", []]);
});

Deno.test("message that mentions unread files needs another child", () => {
  const mention = message("@a", { unread: true });
  const session = rested({}, mention, EXIT);
  const ending = { kind: "renewed", changes: { readsNoMentions: true } } as const;
  assertEquals([session.delivered, session.ending], [[], ending]);
  assertEquals(untaken(session), ["@a"]);
  const next = rested({ readsNoMentions: true }, mention);
  assertEquals([next.delivered, next.ending], [["@a"], undefined]);
  const busy = begun();
  busy.receive(mention);
  assertEquals(busy.delivered, ["one"], "it does not join a turn");
});

Deno.test("message for stdin goes to a child started with it", () => {
  const session = begun();
  session.receive(message("long", { way: "stdin" }));
  assertEquals(session.state.ending, undefined);
  session.receive(...lines("one"), stop("one!"), IDLE, COST);
  assertEquals(session.state.ending, { kind: "renewed", changes: { onStdin: "long" } });
  assertEquals(untaken(session), ["long"]);
  const next = run({ conversation: true, hasOnStdin: true }, message("long", { way: "stdin" }));
  assertEquals(next.state.sent.map(({ text }) => text), ["long"]);
  next.receive(...turn("long"), IDLE, COST, message("longer", { way: "stdin" }));
  assertEquals(next.state.ending, { kind: "renewed", changes: { onStdin: "longer" } });
});

Deno.test("command after other texts needs a child with them", () => {
  const content = ["one", "two", "/x"].map((text) => ({ type: "text", text }));
  const commands = [
    { way: "paste", command: "/x" },
    { way: undefined, settled: { kind: "asked", version: VERSION } },
  ] as const;
  for (const command of commands) {
    const session = rested({}, message("zero"), ...turn("zero"));
    session.receive(settledMessage("/x", {}, { ...command, content, hasContext: true }));
    assertEquals(session.state.ending, undefined);
    session.receive(IDLE, COST);
    const changes = { context: ["one", "two"] };
    assertEquals(session.state.ending, { kind: "renewed", changes });
    const left = untakenMessages(session.state);
    assertEquals(left.map(({ text, hasContext }) => [text, hasContext]), [["/x", undefined]]);
  }
});

Deno.test("transcript's own id of a message is reported", () => {
  const session = rested();
  const prompt = (text: string, uuid: string) => userLine(text, { uuid });
  const send = (text: string, uuid?: string, more = {}) =>
    message(text, { ...(uuid === undefined ? {} : { uuid }), ...more });
  session.receive(send("one", "given-1"), prompt("one", "line-1"), prompt("one", "line-2"));
  const joined = { type: "queued_command", prompt: "two", source_uuid: "queued-2" };
  session.receive(send("two", "given-2"));
  session.receive(line({ type: "attachment", uuid: "line-3", attachment: joined }));
  const named = [
    { type: "named", line: "line-1", given: "given-1" },
    { type: "named", line: "queued-2", given: "given-2" },
  ];
  assertEquals<unknown>(session.of("named"), named);
  for (const id of ["given-1", "other"]) {
    session.receive(request("rewind_files", { user_message_id: id }));
  }
  const rewound = session.consulted.map(({ body }) => body["user_message_id"]);
  assertEquals(rewound, ["line-1", "other"], "a headless helper knows that id");
  session.receive(send("three"), prompt("three", "line-4"));
  session.receive(send("four", "line-5"), prompt("four", "line-5"));
  session.receive(send("five", ""), prompt("five", "line-6"));
  session.receive(send("six", "line-4"), prompt("six", "line-7"));
  session.receive(send("seven", "earlier-line", { namesake: true }), prompt("seven", "line-8"));
  assertEquals<unknown>(session.of("named"), named, "another line has the id, or there is none");
});
