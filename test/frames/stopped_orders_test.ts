import { assert, assertEquals } from "@std/assert";
import { advance, startConversation } from "../../src/frames/advance.ts";
import type { ConversationEffect, ConversationState } from "../../src/frames/conversation.ts";
import type { DeadlineName } from "../../src/session/deadline_names.ts";
import type { Input, Untimed } from "../../src/session/input.ts";
import { untakenMessages } from "../../src/session/turn/taking.ts";
import { answer, COMPLETED, INTERRUPTED, line } from "../transcript/lines.ts";
import { conversationOptions } from "./conversation_options.ts";

/** A conversation at a moment, on a clock that stands still unless a deadline is due. */
interface Moment {
  readonly state: ConversationState;
  readonly now: number;
  readonly deadlines: ReadonlyMap<DeadlineName, number>;
  /** What was typed, and the results of turns. */
  readonly typed: string;
  readonly results: readonly unknown[];
  /** How it has ended, if it has. */
  readonly end?: Extract<ConversationEffect, { readonly type: "end" }>["ending"];
}

type News = Untimed<Input>;

/** What the child tells, each stream in its own order. */
type Streams = readonly (readonly News[])[];

/** These bound what a user may have made as long as that: nothing behind an interrupt may wait for them. */
const LONG: readonly DeadlineName[] = ["timeout", "delivery", "silence"];
/** How long anything may take behind the last that the child tells, in milliseconds. */
const SOON_MS = 20_000;

const VERSION = "2.1.332";
const hook = (event: string, payload: Readonly<Record<string, unknown>> = {}): News => ({
  type: "hook",
  event,
  payload,
});
const status = (status: string): News => ({ type: "status", status });
const say = (text: string): News => ({ type: "message", message: { text, way: "rendezvous" } });
const submit = (prompt: string) => hook("UserPromptSubmit", { prompt });
const prompt = (content: string) =>
  line({ type: "user", version: VERSION, uuid: content, message: { role: "user", content } });
const said = (text: string) => answer(text, { id: text });
const stop = (text: string) => hook("Stop", { last_assistant_message: text });
const REQUEST = line({
  type: "api-request",
  querySource: "repl_main_thread",
});
const DRAWN: News = { type: "terminal", bytes: new TextEncoder().encode(".") };
const control = (subtype: string, body: Readonly<Record<string, unknown>> = {}): News => ({
  type: "control",
  request: { id: "r", subtype, body },
});
const INTERRUPT = control("interrupt");

/** Hears something, and lets the child go when it is told to. */
function hear(before: Moment, news: News): Moment {
  const { now } = before;
  const inputs: News[] = [news];
  if (news.type === "transcript") inputs.push({ type: "read" });
  let moment = before;
  for (const input of inputs) {
    const { state, effects } = advance(moment.state, { ...input, at: now } as Input);
    moment = effects.reduce((moment, effect) => withEffect(moment, effect), { ...moment, state });
    const isToGo = effects.some(({ type }) => type === "kill");
    if (isToGo) moment = hear(moment, { type: "exit", exit: { kind: "exited", code: 143 } });
  }
  return moment;
}

function withEffect(moment: Moment, effect: ConversationEffect): Moment {
  const { deadlines, typed, results, now } = moment;
  switch (effect.type) {
    case "deadline": {
      const next = new Map(deadlines);
      if (effect.afterMs === undefined) next.delete(effect.name);
      else next.set(effect.name, now + effect.afterMs);
      return { ...moment, deadlines: next };
    }
    case "write":
      return { ...moment, typed: typed + new TextDecoder().decode(effect.bytes) };
    case "frame": {
      const { type, subtype, result = subtype } = effect.frame;
      return type === "result" ? { ...moment, results: [...results, result] } : moment;
    }
    case "end":
      return effect.frames.reduce<Moment>(
        (moment, frame) => withEffect(moment, { type: "frame", frame }),
        { ...moment, end: effect.ending },
      );
    default:
      return moment;
  }
}

/** Lets time pass until it has a result of so many turns, has ended, or nothing is due any more within a time. */
function wait(
  before: Moment,
  { ms, results = Infinity }: { readonly ms: number; readonly results?: number },
): Moment {
  const until = before.now + ms;
  let moment = before;
  while (moment.results.length < results && moment.end === undefined) {
    const [next] = [...moment.deadlines].filter(([name]) => !LONG.includes(name))
      .sort(([, one], [, other]) => one - other);
    if (next === undefined || next[1] > until) break;
    const [name, due] = next;
    const deadlines = new Map(moment.deadlines);
    deadlines.delete(name);
    moment = hear({ ...moment, now: due, deadlines }, { type: "deadline", name });
  }
  return { ...moment, now: Math.max(moment.now, Math.min(until, moment.now + ms)) };
}

/** Goes through all orders in which the streams can be heard. */
function* orders(
  moment: Moment,
  streams: Streams,
  heard: readonly News[] = [],
): Generator<{ readonly moment: Moment; readonly heard: readonly News[] }> {
  if (streams.every(({ length }) => length === 0)) yield { moment, heard };
  for (const [at, [news, ...rest]] of streams.entries()) {
    if (news === undefined) continue;
    yield* orders(hear(moment, news), streams.with(at, rest), [...heard, news]);
  }
}

const names = (heard: readonly News[]) =>
  heard.map((news) =>
    news.type === "hook"
      ? news.event
      : news.type === "status"
      ? news.status
      : news.type === "transcript"
      ? JSON.stringify(news.entry).slice(0, 90)
      : news.type
  ).join(", ");

/** A child that is about to start. */
function begun(): Moment {
  const { frames, ...options } = conversationOptions({ conversation: true, version: VERSION });
  return {
    state: startConversation({ ...options, frames: { ...frames, conversation: true } }),
    now: 0,
    deadlines: new Map(),
    typed: "",
    results: [],
  };
}

const START: readonly News[] = [
  { type: "spawned" },
  { type: "reachable" },
  hook("SessionStart", { model: "m" }),
  status("idle"),
];

/** A child that rests after a turn. */
function rested(): Moment {
  const first: readonly News[] = [
    ...START,
    ...[say("One"), submit("One"), status("busy"), prompt("One"), said("first"), COMPLETED],
    ...[stop("first"), status("idle"), { type: "cost", totalUsd: 1, apiDurationMs: 1 } as const],
  ];
  const moment = first.reduce(hear, begun());
  assertEquals([moment.results, moment.state.session.phase], [["first"], "resting"]);
  // The keys that asked for the cost do not matter here.
  return { ...moment, typed: "" };
}

/** One that is at a turn which never ends by itself, with a further message in its queue, and has been told to stop. */
function stopped(): Moment {
  const taken = [say("Two"), submit("Two"), status("busy"), prompt("Two"), REQUEST];
  const moment = [...taken, say("Three"), INTERRUPT].reduce(hear, rested());
  assertEquals([moment.typed, moment.state.session.sent.length], [".\x1b", 1]);
  return moment;
}

const ABORTED = "error_during_execution";
const STATUSES = [["idle"], ["busy", "idle"], ["idle", "busy", "idle"]]
  .map((names) => names.map(status));

Deno.test("what waits behind a turn that is stopped has its turn, in whatever order the child tells of both", () => {
  for (const stallMs of [0, 25_000]) {
    const stalled = wait(stopped(), { ms: stallMs });
    assertEquals(stalled.typed, ".\x1b", "a child that has not read Escape is not given another");
    // That it comes late does not depend on how often it tells its status, and those orders are by far the most.
    for (const statuses of stallMs === 0 ? STATUSES : STATUSES.slice(0, 1)) {
      const streams = [
        [submit("Three"), stop("third")],
        [INTERRUPTED, prompt("Three"), said("third"), COMPLETED],
        statuses,
      ];
      for (const { moment, heard } of orders(hear(stalled, DRAWN), streams)) {
        const { results, typed, state: { session } } = wait(moment, { ms: SOON_MS, results: 3 });
        assertEquals(results, ["first", ABORTED, "third"], names(heard));
        assertEquals([typed.slice(0, 3), session.phase], [".\x1b\x7f", "resting"], names(heard));
      }
    }
  }
});

Deno.test("what a child has lost with a turn that was stopped is said to the next one, soon", () => {
  const popped = line({ type: "queue-operation", operation: "popAll", content: "Three" });
  const fates: readonly Streams[] = [
    [[submit("Three")], [INTERRUPTED]],
    [[], [INTERRUPTED]],
    [[], [popped, INTERRUPTED]],
  ];
  for (const fate of fates) {
    for (const statuses of STATUSES) {
      for (const { moment, heard } of orders(stopped(), [...fate, statuses, [DRAWN]])) {
        const { results, end, state } = wait(moment, { ms: SOON_MS });
        assertEquals(results, ["first", ABORTED], names(heard));
        assertEquals(end, { kind: "renewed", changes: {}, lost: true }, names(heard));
        assertEquals(untakenMessages(state.session).map(({ text }) => text), ["Three"]);
      }
    }
  }
});

Deno.test("what a child has lost with a turn that was stopped, and is to be stopped itself, is over soon", () => {
  for (const hooks of [[], [submit("Three")]]) {
    for (const statuses of STATUSES) {
      for (const { moment, heard } of orders(stopped(), [hooks, [INTERRUPTED], statuses])) {
        const { results, state } = wait(hear(moment, INTERRUPT), { ms: SOON_MS, results: 3 });
        assertEquals(results, ["first", ABORTED, ABORTED], names(heard));
        assertEquals(state.session.phase, "resting", names(heard));
      }
    }
  }
});

Deno.test("an Escape that hits the next turn stops that, once its prompt is written down", () => {
  for (const statuses of STATUSES) {
    const streams = [
      [submit("Three")],
      [INTERRUPTED, prompt("Three"), INTERRUPTED],
      statuses,
      [DRAWN],
    ];
    for (const { moment, heard } of orders(stopped(), streams)) {
      const { results } = wait(moment, { ms: SOON_MS, results: 3 });
      assertEquals(results, ["first", ABORTED, ABORTED], names(heard));
    }
  }
});

Deno.test("a turn is stopped that the child has not taken yet, once its prompt is written down", () => {
  const early = [say("Two"), INTERRUPT].reduce(hear, rested());
  for (const stallMs of [0, 25_000]) {
    const stalled = wait(early, { ms: stallMs });
    assertEquals([stalled.typed, stalled.results], ["", ["first"]]);
    const begin = [[submit("Two")], [status("busy")], [prompt("Two")]];
    for (const { moment, heard } of orders(stalled, begin)) {
      assertEquals([moment.typed, moment.results], [".\x1b", ["first"]], names(heard));
      const end = [[DRAWN], [INTERRUPTED], [status("idle")]];
      for (const { moment: over, heard: rest } of orders(moment, end)) {
        const { results, state: { session } } = wait(over, { ms: SOON_MS, results: 2 });
        const told = names([...heard, ...rest]);
        assertEquals([results, session.phase], [["first", ABORTED], "resting"], told);
      }
    }
  }
});

Deno.test("a turn with something behind it in the child's queue is stopped once it has made its first request", () => {
  const busy = [...START, say("One"), submit("One"), status("busy")].reduce(hear, begun());
  for (const queued of [[], [say("Two")]]) {
    const asked = [...queued, INTERRUPT, prompt("One")].reduce(hear, busy);
    assertEquals(asked.typed, queued.length === 0 ? ".\x1b" : "");
    assertEquals(hear(asked, REQUEST).typed, ".\x1b");
    // One that makes none, or does not write it down.
    assertEquals(wait(asked, { ms: SOON_MS }).typed, ".\x1b");
  }
});

/** A child that rests after further turns that were stopped, of which it has written nothing down yet. */
function unwritten(...texts: readonly string[]): Moment {
  return texts.reduce((before, text, at) => {
    const begin = [say(text), submit(text), status("busy"), INTERRUPT].reduce(hear, before);
    const pressed = wait(begin, { ms: SOON_MS / 2 });
    const over = [DRAWN, status("idle")].reduce(hear, pressed);
    const rested = wait(over, { ms: SOON_MS, results: at + 2 });
    assertEquals([rested.results.at(-1), rested.state.session.phase], [ABORTED, "resting"]);
    return rested;
  }, rested());
}

Deno.test("a stopped turn that is written down behind its result has that alone, in whatever order the child tells of it and the next one", () => {
  for (const texts of [["Two"], ["Two", "Another"]]) {
    const before = hear(unwritten(...texts), say("Three"));
    const late = texts.flatMap((text) => [prompt(text), INTERRUPTED]);
    const streams = [
      [submit("Three"), stop("third")],
      [...late, prompt("Three"), said("third"), COMPLETED],
      [status("busy"), status("idle")],
    ];
    const results = ["first", ...texts.map(() => ABORTED), "third"];
    for (const { moment, heard } of orders(before, streams)) {
      const over = wait(moment, { ms: SOON_MS, results: results.length });
      assertEquals([over.results, over.state.session.phase], [results, "resting"], names(heard));
    }
  }
});

Deno.test("that a turn was stopped, written down late, stops no other one", () => {
  const begin = [say("Two"), submit("Two"), status("busy"), prompt("Two"), INTERRUPT, DRAWN];
  const before = wait([...begin, status("idle")].reduce(hear, rested()), { ms: SOON_MS });
  assertEquals(before.results, ["first", ABORTED]);
  const next = [say("Three"), submit("Three"), status("busy"), INTERRUPT, INTERRUPTED];
  const late = next.reduce(hear, before);
  assertEquals([late.results.length, late.state.session.phase], [2, "aborting"]);
  const over = [prompt("Three"), DRAWN, INTERRUPTED, status("idle")].reduce(hear, late);
  assertEquals([over.results, over.typed], [["first", ABORTED, ABORTED], ".\x1b\x7f.\x1b\x7f"]);
});

Deno.test("a message with the words of a stopped one that was never written down has a turn of its own", () => {
  const before = unwritten("Two");
  const { frames: { startedAt } } = before.state.options;
  const again = line({
    type: "user",
    version: VERSION,
    uuid: "again",
    timestamp: new Date(startedAt + before.now + 1).toISOString(),
    message: { role: "user", content: "Two" },
  });
  const news = [say("Two"), submit("Two"), status("busy"), again, said("second"), COMPLETED];
  const over = [...news, stop("second"), status("idle")].reduce(hear, before);
  const { results } = wait(over, { ms: SOON_MS, results: 3 });
  assertEquals(results, ["first", ABORTED, "second"]);
});

Deno.test("what an interrupt takes back is not what the child has been given", () => {
  const later = {
    type: "message",
    message: { text: "Four", way: "rendezvous", priority: "later" },
  } as const;
  const begin = [...START, say("One"), submit("One"), status("busy"), prompt("One"), REQUEST];
  const stop3 = [submit("Three"), status("busy"), prompt("Three"), say("Five"), said("third")];
  const moment = [
    ...[...begin, say("Three"), later, control("interrupt", { cancel_queued: true }), DRAWN],
    ...[INTERRUPTED, ...stop3, COMPLETED, stop("third"), status("idle")],
  ].reduce(hear, begun());
  assertEquals(wait(moment, { ms: SOON_MS, results: 2 }).results, [ABORTED, "third"]);
});

Deno.test("a command is stopped with which the child is busy, though nothing else tells of it", () => {
  const message = { text: "/compact", way: "rendezvous", command: "/compact" } as const;
  const asked = [{ type: "message", message } as const, INTERRUPT].reduce<Moment>(hear, rested());
  assertEquals(wait(asked, { ms: SOON_MS / 2 }).typed, "");
  const pressed = wait(hear(asked, status("busy")), { ms: SOON_MS / 2 });
  assertEquals(pressed.typed, ".\x1b");
  const { results, state } = wait([DRAWN, status("idle")].reduce(hear, pressed), { ms: SOON_MS });
  assertEquals([results, state.session.phase], [["first", ABORTED], "resting"]);
  // What it says of that makes no answer, and no failure.
  const name = "<command-name>/compact</command-name>\n<command-args></command-args>";
  const said = "<local-command-stdout>Compaction canceled.</local-command-stdout>";
  const told = [
    DRAWN,
    prompt(name),
    line({ type: "system", subtype: "local_command", version: VERSION, uuid: "o", content: said }),
    status("idle"),
  ].reduce(hear, pressed);
  assertEquals(wait(told, { ms: SOON_MS }).results, ["first", ""]);
});

/** Tells of a turn that is stopped. */
function stopping(before: Moment, text: string): Moment {
  const moment = [submit(text), status("busy"), prompt(text)].reduce(hear, before);
  assertEquals(moment.typed.slice(before.typed.length), ".\x1b");
  return [DRAWN, INTERRUPTED, status("idle")].reduce(hear, moment);
}

Deno.test("a message is stopped for which the child has yet to start, and no other", () => {
  const said = [say("One"), INTERRUPT, say("Two"), INTERRUPT];
  for (let before = 0; before < START.length; before++) {
    const heard = [...START.slice(0, before), ...said, ...START.slice(before)];
    const moment = stopping(heard.reduce(hear, begun()), "One");
    const { results, state: { session } } = wait(moment, { ms: SOON_MS, results: 1 });
    assertEquals([results, session.phase, session.sent.map(({ text }) => text)], [
      [ABORTED],
      "entered",
      ["Two"],
    ]);
    const next = [submit("Two"), status("busy"), prompt("Two")].reduce(hear, moment);
    assertEquals(next.typed, ".\x1b\x7f");
  }
});

Deno.test("a message is stopped that waits for another child", () => {
  const inputs = [control("set_max_thinking_tokens"), say("Two"), INTERRUPT];
  const renewed = inputs.reduce(
    (state, input) => advance(state, { ...input, at: 0 } as Input).state,
    rested().state,
  );
  assertEquals(renewed.session.ending?.kind, "renewed");
  const untaken = untakenMessages(renewed.session);
  const again = [...untaken.map((message): News => ({ type: "message", message })), ...START];
  assertEquals(stopping(again.reduce(hear, begun()), "Two").results, [ABORTED]);
});

Deno.test("what is said before the child has started has its result though the session is ended at once", () => {
  const said = [say("One"), say("Two"), control("end_session")];
  const begin = [...said, ...START].reduce(hear, begun());
  const { results, state, end } = wait(stopping(begin, "One"), { ms: SOON_MS, results: 1 });
  assertEquals(results, [ABORTED]);
  assertEquals(state.session.sent, []);
  assertEquals(end?.kind, "aborted");
});

Deno.test("a child that goes on, or hears nothing, comes to an end", () => {
  for (const further of [[], [DRAWN]]) {
    let moment = stopped();
    for (let round = 0; round < 10; round++) {
      moment = wait(further.reduce(hear, moment), { ms: SOON_MS });
    }
    assertEquals(moment.end?.kind, "unstoppable");
    assert(moment.results.length > 1);
  }
});
