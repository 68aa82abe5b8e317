import { assertEquals } from "@std/assert";
import type { Message } from "../../src/session/message.ts";
import { readEntry } from "../../src/transcript/entry.ts";
import { unansweredRequests } from "../../src/session/control/requests/consulting.ts";
import { untakenMessages } from "../../src/session/turn/taking.ts";
import { called, returned } from "../transcript/lines.ts";
import { simulate, type Simulation } from "./simulation.ts";

const OPTIONS = {
  keptAtEnd: true,
  conversation: true,
  version: "2.1.332",
  timeoutMs: 60_000,
} as const;

const say = (session: Simulation, text: string, more: Partial<Message> = {}) =>
  session.hear({
    type: "message",
    message: { text, way: "rendezvous", ...more } as Message,
  });
const status = (session: Simulation, name: string) =>
  session.hear({ type: "status", status: name });
const hook = (
  session: Simulation,
  event: string,
  payload: Readonly<Record<string, unknown>>,
  id?: string,
) => session.hear({ type: "hook", event, payload, ...(id === undefined ? {} : { id }) });
const submit = (session: Simulation, prompt: string) =>
  hook(session, "UserPromptSubmit", { prompt });
const line = (session: Simulation, written: object) => {
  const entry = readEntry(written);
  if (entry !== undefined) session.hear({ type: "transcript", entry });
};
const promptLine = (session: Simulation, content: string) =>
  line(session, { type: "user", message: { role: "user", content } });
const answerLine = (session: Simulation, text: string) =>
  line(session, {
    type: "assistant",
    message: { id: "m", model: "m", content: [{ type: "text", text }] },
  });
const cost = (session: Simulation) => session.hear({ type: "cost", totalUsd: 1, apiDurationMs: 1 });
const interrupt = (session: Simulation) =>
  session.hear({
    type: "control",
    request: { id: "r", subtype: "interrupt", body: {} },
  });

/** A child that is idle and can be reached. */
function rested(): Simulation {
  const session = simulate(OPTIONS);
  session.hear({ type: "reachable" });
  status(session, "idle");
  return session;
}

/** The turn of a text that was delivered, from its beginning to the Stop hook. */
function answered(session: Simulation, text: string, { asks }: { readonly asks?: string } = {}) {
  submit(session, text);
  status(session, "busy");
  promptLine(session, text);
  answerLine(session, `${text}!`);
  hook(session, "Stop", { last_assistant_message: `${text}!` }, asks);
}

const delivered = ({ effects }: Simulation) =>
  effects.filter((effect) => effect.type === "deliver").map(({ prompt }) => prompt);
const turns = ({ effects }: Simulation) =>
  effects.filter((effect) => effect.type === "turn")
    .map(({ ending, recorded }) => recorded ? ending.kind : `${ending.kind}, unrecorded`);
const answers = ({ effects }: Simulation) =>
  effects.filter((effect) => effect.type === "answer").map(({ id }) => id);
const phase = (session: Simulation) => session.state().phase;

Deno.test("a child without a message rests, however long nobody says anything", () => {
  const session = rested();
  session.wait(1e9);
  assertEquals([phase(session), session.ending(), session.signals()], ["resting", undefined, []]);
  say(session, "one");
  assertEquals([phase(session), delivered(session)], ["entered", ["one"]]);
});

Deno.test("a turn is over once it is on record and paid for, and the child rests", () => {
  const session = rested();
  say(session, "one");
  answered(session, "one");
  status(session, "idle");
  assertEquals(turns(session), []);
  cost(session);
  assertEquals([turns(session), phase(session)], [["answered"], "resting"]);
  session.wait(1e9);
  assertEquals(session.signals(), []);
  session.hear({ type: "closed" });
  assertEquals(session.signals(), ["SIGTERM"]);
  session.hear({ type: "exit", exit: { kind: "exited", code: 143 } });
  assertEquals(session.ending()?.kind, "closed");
});

Deno.test("what a turn cost is asked for at its Stop, by keys that leave the input box as it was", () => {
  const session = simulate(OPTIONS);
  session.hear({ type: "reachable" });
  status(session, "idle");
  say(session, "one");
  const before = session.typed();
  answered(session, "one");
  assertEquals([before, session.typed()], ["", "?\x7f"]);
  const last = simulate(OPTIONS);
  last.hear({ type: "reachable" });
  status(last, "idle");
  say(last, "one");
  last.hear({ type: "closed" });
  answered(last, "one");
  assertEquals(last.typed(), "", "nobody is told of the cost of the last one");
  const text = simulate({ keptAtEnd: true, prompt: "one", inject: "stdin" });
  answered(text, "one");
  assertEquals([text.typed(), text.signals()], ["", ["SIGTERM"]], "nobody waits for it");
});

Deno.test("a status line that ran before the Stop hook does not tell what the turn cost", () => {
  const session = rested();
  say(session, "one");
  submit(session, "one");
  promptLine(session, "one");
  answerLine(session, "one!");
  const payload = { last_assistant_message: "one!" };
  session.hear({ type: "hook", event: "Stop", payload, ranAt: 1000 });
  status(session, "idle");
  const told = { type: "cost", totalUsd: 1, apiDurationMs: 1 } as const;
  session.hear({ ...told, ranAt: 999 });
  assertEquals(turns(session), []);
  session.hear({ ...told, ranAt: 1000 });
  assertEquals(turns(session), ["answered"]);
});

Deno.test("a turn whose cost is not told is over all the same", () => {
  const session = rested();
  say(session, "one");
  answered(session, "one");
  status(session, "idle");
  session.wait(2000);
  assertEquals([turns(session), phase(session)], [["answered"], "resting"]);
});

Deno.test("the last turn ends once the child is idle, and its cost comes at the end", () => {
  const session = rested();
  say(session, "one");
  session.hear({ type: "closed" });
  answered(session, "one", { asks: "stop-1" });
  // The hook has yet to end, now that it is answered.
  assertEquals([answers(session), session.signals()], [["stop-1"], []]);
  status(session, "idle");
  assertEquals([turns(session), session.signals()], [[], ["SIGTERM"]]);
});

Deno.test("the last turn ends at its Stop where nobody answers that", () => {
  const session = rested();
  say(session, "one");
  session.hear({ type: "closed" });
  answered(session, "one");
  assertEquals([answers(session), turns(session), session.signals()], [[], [], ["SIGTERM"]]);
});

Deno.test("the end of input while a Stop is settled ends the run as soon as the child is idle", () => {
  const session = rested();
  say(session, "one");
  answered(session, "one", { asks: "stop-1" });
  assertEquals(session.signals(), []);
  session.hear({ type: "closed" });
  assertEquals(session.signals(), []);
  status(session, "idle");
  assertEquals([turns(session), session.signals()], [[], ["SIGTERM"]]);
});

Deno.test("what comes in a turn is the child's at once, and before that waits", () => {
  const session = rested();
  say(session, "one");
  say(session, "two");
  assertEquals(delivered(session), ["one"]);
  submit(session, "one");
  assertEquals(delivered(session), ["one", "two"]);
  say(session, "later", { priority: "later" });
  say(session, "three");
  assertEquals(delivered(session), ["one", "two", "three"]);
});

Deno.test("what has come before a turn began is the child's together, and has one turn behind that", () => {
  const session = rested();
  for (const text of ["one", "two", "three"]) say(session, text, { ticket: text });
  submit(session, "one");
  assertEquals(delivered(session), ["one", "two", "three"]);
  status(session, "busy");
  hook(session, "Stop", { last_assistant_message: "one!" }, "stop-1");
  promptLine(session, "one");
  answerLine(session, "one!");
  cost(session);
  submit(session, "two");
  submit(session, "three");
  promptLine(session, "two");
  promptLine(session, "three");
  answerLine(session, "both!");
  hook(session, "Stop", { last_assistant_message: "both!" }, "stop-2");
  status(session, "idle");
  cost(session);
  const ended = session.effects.flatMap((effect) => effect.type === "turn" ? [effect.tickets] : []);
  assertEquals(ended, [["one"], ["two", "three"]]);
});

Deno.test("a child that goes on with its own queue waits until the turn before is paid for", () => {
  const session = rested();
  say(session, "one");
  submit(session, "one");
  say(session, "two");
  status(session, "busy");
  promptLine(session, "one");
  answerLine(session, "one!");
  hook(session, "Stop", { last_assistant_message: "one!" }, "stop-1");
  assertEquals(answers(session), []);
  cost(session);
  assertEquals(answers(session), ["stop-1"]);
  submit(session, "two");
  assertEquals([turns(session), phase(session)], [["answered, unrecorded"], "working"]);
  // The end of the first turn is written after the second has begun.
  line(session, { type: "system", subtype: "turn_duration" });
  promptLine(session, "two");
  answerLine(session, "two!");
  hook(session, "Stop", { last_assistant_message: "two!" }, "stop-2");
  assertEquals(answers(session), ["stop-1", "stop-2"]);
  status(session, "idle");
  cost(session);
  assertEquals([turns(session), phase(session)], [["answered, unrecorded", "answered"], "resting"]);
});

Deno.test("several messages that can wait are handed over together before a Stop is answered", () => {
  const session = rested();
  say(session, "one");
  submit(session, "one");
  status(session, "busy");
  say(session, "two", { priority: "later", ticket: "b" });
  say(session, "three", { priority: "later", ticket: "c" });
  promptLine(session, "one");
  answerLine(session, "one!");
  assertEquals(delivered(session), ["one"]);
  hook(session, "Stop", { last_assistant_message: "one!" }, "stop-1");
  assertEquals([delivered(session), answers(session)], [["one", "two", "three"], []]);
  cost(session);
  assertEquals(answers(session), ["stop-1"]);
  submit(session, "two");
  submit(session, "three");
  status(session, "busy");
  promptLine(session, "two");
  promptLine(session, "three");
  answerLine(session, "both!");
  hook(session, "Stop", { last_assistant_message: "both!" }, "stop-2");
  status(session, "idle");
  cost(session);
  assertEquals([turns(session), phase(session)], [["answered, unrecorded", "answered"], "resting"]);
  const last = session.effects.findLast((effect) => effect.type === "turn");
  assertEquals(last?.tickets, ["b", "c"]);
});

Deno.test("a message that can wait is handed over to a child that rests if it is alone, or not all that wait are text", () => {
  for (const second of [undefined, { way: "paste", command: "/init" }] as const) {
    const session = rested();
    say(session, "one");
    submit(session, "one");
    say(session, "two", { priority: "later" });
    if (second !== undefined) say(session, "/init", { priority: "later", ...second });
    promptLine(session, "one");
    answerLine(session, "one!");
    hook(session, "Stop", { last_assistant_message: "one!" }, "stop-1");
    assertEquals([delivered(session), answers(session)], [["one"], ["stop-1"]]);
  }
});

Deno.test("a Stop that waits for a price is answered in any case", () => {
  const session = rested();
  say(session, "one");
  submit(session, "one");
  say(session, "two");
  hook(session, "Stop", { last_assistant_message: "one!" }, "stop-1");
  session.wait(5000);
  assertEquals(answers(session), ["stop-1"]);
});

Deno.test("the same text twice is two messages, though the first is written late", () => {
  const session = rested();
  say(session, "again");
  submit(session, "again");
  say(session, "again");
  hook(session, "Stop", { last_assistant_message: "again!" }, "stop-1");
  promptLine(session, "again");
  answerLine(session, "again!");
  assertEquals([turns(session), session.state().sent.length], [[], 1]);
  cost(session);
  submit(session, "again");
  assertEquals([turns(session), session.state().sent.length], [["answered"], 0]);
  promptLine(session, "again");
  answerLine(session, "again!");
  hook(session, "Stop", { last_assistant_message: "again!" });
  status(session, "idle");
  cost(session);
  assertEquals([turns(session).length, phase(session)], [2, "resting"]);
});

Deno.test("a message that became a part of the turn is not waited for", () => {
  const session = rested();
  say(session, "one");
  submit(session, "one");
  say(session, "two");
  // 2.1.197 tells it in the transcript only.
  line(session, { type: "attachment", attachment: { type: "queued_command", prompt: "two" } });
  promptLine(session, "one");
  answerLine(session, "both!");
  hook(session, "Stop", { last_assistant_message: "both!" });
  status(session, "idle");
  cost(session);
  assertEquals([turns(session), phase(session)], [["answered"], "resting"]);
});

Deno.test("urgent messages come first, and those that can wait last", () => {
  const session = simulate(OPTIONS);
  session.hear({ type: "reachable" });
  for (const [text, priority] of [["a", "now"], ["c", "later"], ["b", "next"]] as const) {
    say(session, text, { priority });
  }
  status(session, "idle");
  for (const text of ["a", "b", "c"]) {
    answered(session, text);
    status(session, "idle");
    cost(session);
  }
  assertEquals(delivered(session), ["a", "b", "c"]);
});

Deno.test("the first message is begun with while the child starts, whatever comes behind it", () => {
  const session = simulate(OPTIONS);
  session.hear({ type: "reachable" });
  for (
    const [text, priority] of [["a", "later"], ["d", "later"], ["b", "next"], [
      "c",
      "next",
    ]] as const
  ) {
    say(session, text, { priority });
  }
  assertEquals(session.state().queue.map(({ text }) => text), ["a", "b", "c", "d"]);
  status(session, "idle");
  answered(session, "a");
  status(session, "idle");
  cost(session);
  assertEquals(delivered(session)[0], "a");
});

Deno.test("an urgent message stops the turn under way, and is the next one", () => {
  const session = rested();
  say(session, "one");
  submit(session, "one");
  status(session, "busy");
  promptLine(session, "one");
  say(session, "now", { priority: "now" });
  assertEquals([session.typed(), phase(session)], [".\x1b", "aborting"]);
  line(session, {
    type: "user",
    message: { role: "user", content: [{ type: "text", text: "[Request interrupted by user]" }] },
  });
  assertEquals([turns(session), delivered(session)], [["aborted"], ["one", "now"]]);
});

/** A turn under way, whose calls are in the transcript. */
function working(
  calls: readonly string[],
  options: Partial<Parameters<typeof simulate>[0]> = {},
): Simulation {
  const session = simulate({ ...OPTIONS, ...options });
  session.hear({ type: "reachable" });
  status(session, "idle");
  say(session, "one");
  submit(session, "one");
  status(session, "busy");
  promptLine(session, "one");
  line(session, { type: "system", subtype: "requested" });
  const content = calls.map((name, at) => ({ type: "tool_use", id: `${at}`, name, input: {} }));
  line(session, { type: "assistant", message: { id: "m", model: "m", content } });
  return session;
}

Deno.test("an urgent message stops the turn once its running command has ended", () => {
  const session = working(["Bash"]);
  say(session, "now", { priority: "now" });
  say(session, "later");
  session.wait(30_000);
  assertEquals([session.typed(), phase(session), delivered(session)], ["", "working", ["one"]]);
  session.hear(returned("0"));
  assertEquals([session.typed(), phase(session)], [".\x1b", "aborting"]);
  line(session, {
    type: "user",
    message: { role: "user", content: [{ type: "text", text: "[Request interrupted by user]" }] },
  });
  assertEquals([turns(session), delivered(session)], [["aborted"], ["one", "now"]]);
});

Deno.test("an urgent message waits for no other tool, several commands, or a question", () => {
  const caller = { idPrefix: "q", callbacks: [{ id: "pre", event: "PreToolUse" }] };
  const ask = (session: Simulation) =>
    session.hear({
      type: "hook",
      event: "PreToolUse",
      payload: { tool_use_id: "0", tool_name: "Bash" },
      id: "hook",
      callback: 0,
    });
  for (const calls of [["Agent"], ["mcp__s__t"], ["Bash", "Bash"], []]) {
    const session = working(calls);
    say(session, "now", { priority: "now" });
    assertEquals(session.typed(), ".\x1b", calls.join());
  }
  const asked = working(["Bash"], { caller });
  ask(asked);
  say(asked, "now", { priority: "now" });
  assertEquals(asked.typed(), ".\x1b", "its hook has been asked before");
  const later = working(["Bash"], { caller });
  say(later, "now", { priority: "now" });
  assertEquals(later.typed(), "");
  ask(later);
  assertEquals(later.typed(), ".\x1b", "its hook is asked meanwhile");
});

Deno.test("an interrupt stops a command that an urgent message waits for", () => {
  const session = working(["Bash"]);
  say(session, "now", { priority: "now" });
  assertEquals(session.typed(), "");
  interrupt(session);
  assertEquals([session.typed(), phase(session)], [".\x1b", "aborting"]);
});

Deno.test("an urgent message stops the turn of one that waits for the child to start, and comes before all others", () => {
  const session = simulate({ ...OPTIONS, version: "2.1.332" });
  session.hear({ type: "reachable" });
  say(session, "one", { uuid: "1" });
  say(session, "two", { uuid: "2" });
  say(session, "now", { uuid: "3", priority: "now" });
  say(session, "next", { uuid: "4", priority: "now" });
  const waiting = () => session.state().queue.map(({ text, stopped }) => [text, stopped === true]);
  assertEquals(waiting(), [["one", true], ["now", false], ["next", false], ["two", false]]);
  session.hear({
    type: "control",
    request: { id: "r", subtype: "interrupt", body: { cancel_queued: true } },
  });
  assertEquals(responses(session).at(-1)?.response, {
    still_queued: [],
    cancelled: ["3", "4", "2"],
  });
  assertEquals(waiting(), [["one", true]]);
  status(session, "idle");
  assertEquals([delivered(session), phase(session)], [["one"], "aborting"]);
});

Deno.test("an interrupt is answered at once, and ends a turn alone", () => {
  const session = rested();
  interrupt(session);
  assertEquals(session.typed(), "");
  say(session, "one");
  submit(session, "one");
  status(session, "busy");
  promptLine(session, "one");
  interrupt(session);
  status(session, "idle");
  session.wait(1600);
  // A prompt stopped before its first words would go back into an empty input box.
  assertEquals(
    [session.typed(), turns(session), phase(session)],
    [".\x1b\x7f", ["aborted"], "resting"],
  );
  const responses = session.effects.filter(({ type }) => type === "respond");
  assertEquals(responses.length, 2);
  say(session, "two");
  assertEquals([delivered(session), session.signals()], [["one", "two"], []]);
});

Deno.test("a turn that was over before it was stopped is no stopped one", () => {
  const session = rested();
  say(session, "one");
  submit(session, "one");
  interrupt(session);
  promptLine(session, "one");
  answerLine(session, "one!");
  hook(session, "Stop", { last_assistant_message: "one!" });
  status(session, "idle");
  cost(session);
  assertEquals([turns(session), phase(session)], [["answered"], "resting"]);
});

Deno.test("Escape is pressed again if a child goes on that has read it, but not for ever", () => {
  const session = rested();
  say(session, "one");
  submit(session, "one");
  status(session, "busy");
  promptLine(session, "one");
  interrupt(session);
  session.wait(10_000);
  assertEquals(session.typed(), ".\x1b");
  for (let press = 1; press <= 5; press++) {
    assertEquals([session.typed(), session.signals()], [".\x1b".repeat(press), []]);
    session.show(".");
    session.wait(3000);
  }
  assertEquals(session.signals().slice(0, 1), ["SIGTERM tree"]);
  session.hear({ type: "exit", exit: { kind: "exited", code: 143 } });
  assertEquals(session.ending()?.kind, "unstoppable");
});

Deno.test("a message that needs no child has its turn in its place", () => {
  const session = rested();
  const settled = { kind: "refused", message: "No", suggestion: "Don't" } as const;
  say(session, "one");
  session.hear({ type: "message", message: { text: "/login", settled } });
  say(session, "two");
  answered(session, "one");
  status(session, "idle");
  cost(session);
  assertEquals(turns(session), ["answered", "settled"]);
  assertEquals(delivered(session), ["one", "two"]);
});

Deno.test("a conversation whose only message needs no child ends with it", () => {
  const session = simulate(OPTIONS);
  const settled = { kind: "local", text: "x", version: "2.1.332" } as const;
  session.hear({ type: "message", message: { text: "/x", settled } });
  session.hear({ type: "closed" });
  status(session, "idle");
  // By that hook the child tells its model.
  assertEquals(turns(session), []);
  hook(session, "SessionStart", {}, "start");
  assertEquals([turns(session), answers(session)], [["settled"], ["start"]]);
  assertEquals(session.signals(), ["SIGTERM"]);
});

Deno.test("a message that needs no child does not wait for ever for a hook that does not come", () => {
  const session = rested();
  const settled = { kind: "local", text: "x", version: "2.1.332" } as const;
  session.hear({ type: "message", message: { text: "/x", settled } });
  assertEquals(turns(session), []);
  session.wait(5000);
  assertEquals(turns(session), ["settled"]);
});

Deno.test("a message while tasks run in the background is a turn of its own", () => {
  const session = rested();
  say(session, "one");
  submit(session, "one");
  hook(session, "Stop", { background_tasks: [{ type: "shell" }] }, "stop-1");
  promptLine(session, "one");
  line(session, { type: "system", subtype: "turn_duration", version: "2.1.332" });
  // It is still the turn of the tasks: the child tells of itself that a shell runs.
  status(session, "shell");
  cost(session);
  assertEquals(answers(session), ["stop-1"]);
  say(session, "two");
  assertEquals([delivered(session), phase(session)], [["one", "two"], "entered"]);
});

Deno.test("a message for later follows a turn with tasks whose lines come before its Stop", () => {
  const session = rested();
  say(session, "one");
  submit(session, "one");
  promptLine(session, "one");
  say(session, "two", { priority: "later" });
  line(session, { type: "system", subtype: "turn_duration", version: "2.1.332" });
  assertEquals(delivered(session), ["one"]);
  hook(session, "Stop", { background_tasks: [{ type: "shell" }] });
  assertEquals([delivered(session), phase(session)], [["one", "two"], "entered"]);
});

Deno.test("a limit of time is that of a turn", () => {
  const session = rested();
  session.wait(1e6);
  say(session, "one");
  submit(session, "one");
  status(session, "busy");
  session.wait(59_000);
  assertEquals(session.typed(), "");
  session.wait(1500);
  assertEquals([session.typed(), phase(session)], [".\x1b", "interrupting"]);
});

Deno.test("a child that goes while it rests ends nothing that was asked for", () => {
  const session = rested();
  say(session, "one");
  answered(session, "one");
  status(session, "idle");
  cost(session);
  session.hear({ type: "exit", exit: { kind: "signaled", signal: 9 } });
  assertEquals([turns(session), session.ending()?.kind], [["answered"], "closed"]);
});

Deno.test("a message that a child did not live to take is for the next one, unless it never took any", () => {
  for (const turns of [1, 0]) {
    const session = rested();
    if (turns > 0) {
      say(session, "one");
      answered(session, "one");
      status(session, "idle");
      cost(session);
    }
    say(session, "two");
    session.hear({ type: "exit", exit: { kind: "signaled", signal: 9 } });
    assertEquals(session.state().sent.map(({ text }) => text), ["two"]);
    assertEquals(session.ending()?.kind, turns > 0 ? "closed" : "exited");
  }
});

Deno.test("a child that goes in a turn takes only that turn with it", () => {
  const session = rested();
  say(session, "one");
  submit(session, "one");
  say(session, "two");
  say(session, "three", { priority: "later" });
  session.hear({ type: "exit", exit: { kind: "signaled", signal: 9 } });
  const { sent, queue } = session.state();
  assertEquals(session.ending()?.kind, "exited");
  assertEquals([...sent, ...queue].map(({ text }) => text), ["two", "three"]);
});

Deno.test("what cannot be read ends all at once, whatever is under way", () => {
  for (const begun of [false, true]) {
    const session = rested();
    if (begun) {
      say(session, "one");
      submit(session, "one");
    }
    session.hear({ type: "unreadable", reason: "it is no JSON" });
    assertEquals(session.signals(), ["SIGTERM tree"]);
    session.hear({ type: "exit", exit: { kind: "exited", code: 143 } });
    assertEquals(session.ending()?.kind, "unreadable");
  }
});

Deno.test("what a child cannot change is for the next one, which the next message goes to", () => {
  const session = rested();
  say(session, "one");
  const request = (subtype: string, body: Readonly<Record<string, unknown>>) =>
    session.hear({ type: "control", request: { id: subtype, subtype, body } });
  request("set_model", { model: "m" });
  session.hear({ type: "consulted", id: "set_model", said: { failure: "it is gone" } });
  request("set_permission_mode", { mode: "plan" });
  request("set_max_thinking_tokens", { max_thinking_tokens: null });
  say(session, "two");
  answered(session, "one");
  status(session, "idle");
  assertEquals([delivered(session), session.signals()], [["one"], []]);
  cost(session);
  assertEquals([delivered(session), turns(session), session.signals()], [["one"], ["answered"], [
    "SIGTERM",
  ]]);
  session.hear({ type: "exit", exit: { kind: "exited", code: 143 } });
  assertEquals(session.ending(), {
    kind: "renewed",
    changes: { model: "m", permissionMode: "plan", maxThinkingTokens: null },
  });
  assertEquals(untakenMessages(session.state()).map(({ text }) => text), ["two"]);
});

Deno.test("a message whose mentions are not to be read goes to a child that reads none", () => {
  const session = rested();
  say(session, "@a", { unread: true });
  session.hear({ type: "exit", exit: { kind: "exited", code: 143 } });
  assertEquals([delivered(session), session.ending()], [[], {
    kind: "renewed",
    changes: { readsNoMentions: true },
  }]);
  assertEquals(untakenMessages(session.state()).map(({ text }) => text), ["@a"]);
  const next = simulate({ ...OPTIONS, readsNoMentions: true });
  next.hear({ type: "reachable" });
  status(next, "idle");
  say(next, "@a", { unread: true });
  assertEquals([delivered(next), next.ending()], [["@a"], undefined]);

  const busy = rested();
  say(busy, "one");
  submit(busy, "one");
  say(busy, "@a", { unread: true });
  assertEquals(delivered(busy), ["one"], "it does not join the turn of a child that would read it");
});

Deno.test("a message for stdin goes to a child that is started with it", () => {
  const session = rested();
  say(session, "one");
  submit(session, "one");
  say(session, "long", { way: "stdin" });
  assertEquals(session.state().ending, undefined);
  status(session, "busy");
  promptLine(session, "one");
  answerLine(session, "one!");
  hook(session, "Stop", { last_assistant_message: "one!" });
  status(session, "idle");
  cost(session);
  const changes = { onStdin: "long" };
  assertEquals(session.state().ending, { kind: "renewed", changes });
  assertEquals(untakenMessages(session.state()).map(({ text }) => text), ["long"]);
  const next = simulate({ ...OPTIONS, hasOnStdin: true });
  say(next, "long", { way: "stdin" });
  assertEquals(next.state().sent.map(({ text }) => text), ["long"]);
  answered(next, "long");
  status(next, "idle");
  cost(next);
  say(next, "longer", { way: "stdin" });
  assertEquals(next.state().ending, { kind: "renewed", changes: { onStdin: "longer" } });
});

Deno.test("a command goes to a child whose session holds the texts before it", () => {
  const content = ["one", "two", "/x"].map((text) => ({ type: "text", text }));
  const commands: readonly Partial<Message>[] = [
    { way: "paste", command: "/x" },
    { way: undefined, settled: { kind: "asked", version: "2.1.332" } },
  ];
  for (const command of commands) {
    const session = rested();
    say(session, "zero");
    answered(session, "zero");
    say(session, "/x", { ...command, content, hasContext: true });
    assertEquals(session.state().ending, undefined);
    status(session, "idle");
    cost(session);
    const changes = { context: ["one", "two"] };
    assertEquals(session.state().ending, { kind: "renewed", changes });
    const left = untakenMessages(session.state());
    assertEquals(left.map(({ text, hasContext }) => [text, hasContext]), [["/x", undefined]]);
  }
});

Deno.test("another model is refused where a hook has a say in it, which would not be called", () => {
  const session = simulate({
    ...OPTIONS,
    caller: { idPrefix: "q", callbacks: [], watchesModels: true },
  });
  session.hear({
    type: "control",
    request: { id: "r", subtype: "set_model", body: { model: "m" } },
  });
  const [response] = session.effects.flatMap((effect) =>
    effect.type === "respond" && effect.response.subtype === "error" ? [effect.response.error] : []
  );
  assertEquals(
    response?.split(":")[0],
    "Cannot set the model",
  );
  assertEquals(session.state().changes, undefined);
});

Deno.test("a mode may be called manual, which is the default one", () => {
  const session = simulate({ conversation: true });
  const body = { mode: "manual" };
  session.hear({ type: "control", request: { id: "r", subtype: "set_permission_mode", body } });
  assertEquals(responses(session).map(({ subtype }) => subtype), ["success"]);
  assertEquals(session.state().changes, { permissionMode: "default" });
});

Deno.test("a limit of thinking below none is taken, as by claude -p", () => {
  const session = rested();
  const body = { max_thinking_tokens: -1 };
  session.hear({ type: "control", request: { id: "t", subtype: "set_max_thinking_tokens", body } });
  assertEquals(responses(session), [{ subtype: "success" }]);
  assertEquals(session.state().changes, { maxThinkingTokens: -1 });
});

Deno.test("a change that makes no sense is refused, and changes nothing", () => {
  const session = rested();
  for (
    const [subtype, body] of [
      ["set_model", { model: 7 }],
      ["set_model", { model: "m".repeat(20_000) }],
      ["set_permission_mode", { mode: "wild" }],
      ["set_permission_mode", {}],
      ["set_permission_mode", { mode: "bypassPermissions" }],
      ["set_max_thinking_tokens", { max_thinking_tokens: 1.5 }],
      ["set_max_thinking_tokens", { max_thinking_tokens: "many" }],
      ["apply_flag_settings", { settings: [] }],
      ["apply_flag_settings", { settings: { env: { A: "x".repeat(500_000) } } }],
      ["set_model", { model: {} }],
    ] as const
  ) {
    session.hear({ type: "control", request: { id: subtype, subtype, body } });
  }
  const responses = session.effects.flatMap((effect) =>
    effect.type === "respond" ? [effect.response.subtype] : []
  );
  assertEquals(responses, Array(10).fill("error"));
  say(session, "one");
  assertEquals(delivered(session), ["one"]);
});

Deno.test("requests that cannot be carried out are told so, by name", () => {
  const session = rested();
  for (
    const [subtype, body] of [
      ["set_color", { color: "red" }],
      ["get_session_cost", {}],
      ["initialize", { agents: { a: {} }, hooks: { Stop: [{ hookCallbackIds: ["h"] }] } }],
    ] as const
  ) {
    session.hear({ type: "control", request: { id: subtype, subtype, body } });
  }
  assertEquals(responses(session), [
    {
      subtype: "error",
      error: "Unsupported control request subtype: set_color",
      error_code: "unsupported_request",
    },
    {
      subtype: "error",
      error:
        'claude-print cannot carry out the request "get_session_cost": get_usage tells the same in numbers',
    },
    {
      subtype: "error",
      error: 'claude-print can honour "hooks" only in an initialize that comes first',
    },
  ]);
});

Deno.test("a title that a caller gives the session is told, once it is noted", () => {
  {
    const session = simulate({ conversation: true });
    const rename = (id: string, title: unknown) =>
      session.hear({
        type: "control",
        request: { id, subtype: "rename_session", body: { title } },
      });
    rename("a", " Mine ");
    rename("b", "");
    assertEquals(responses(session), []);
    session.hear({ type: "consulted", id: "a", said: { response: {} } });
    session.hear({ type: "consulted", id: "b", said: { error: "title must be non-empty" } });
    assertEquals(responses(session), [
      { subtype: "success" },
      { subtype: "error", error: "title must be non-empty" },
    ]);
    const titles = session.effects.filter(({ type }) => type === "title");
    assertEquals(titles, [{ type: "title", title: "Mine" }]);
  }
});

Deno.test("what an initialization that does not come first asks for is nothing to claude -p, or refused", () => {
  const consulted = (body: Readonly<Record<string, unknown>>) => {
    const session = simulate({ conversation: true });
    session.hear({ type: "control", request: { id: "i", subtype: "initialize", body } });
    return session.effects.some(({ type }) => type === "consult");
  };
  const prompts = { systemPrompt: "x", appendSystemPrompt: ["y"], agents: { a: {} } };
  assertEquals(consulted(prompts), true);
  assertEquals(consulted({ sdkMcpServers: ["a"] }), false);
  assertEquals(consulted({ title: "a" }), false);
  assertEquals(consulted({ hooks: { Stop: [{ hookCallbackIds: ["h"] }] } }), false);
});

Deno.test("whether servers of an initialization are there is answered: they come with a child's start alone", () => {
  const mcpServers = { s: { command: "x" } };
  const applied = (id: string, body: Readonly<Record<string, unknown>>) => {
    const caller = { idPrefix: "q", callbacks: [], initialized: { id: "first" } };
    const session = simulate({ conversation: true, version: "2.1.332", caller });
    session.hear({ type: "control", request: { id, subtype: "initialize", body } });
    session.hear({ type: "consulted", id, said: { response: { commands: [] } } });
    const [answered] = responses(session);
    return "error" in (answered ?? {}) ? answered : answered?.response;
  };
  assertEquals(applied("first", { mcpServers }), { commands: [], mcp_servers_applied: true });
  assertEquals(applied("first", { mcpServers: {} }), { commands: [] });
  assertEquals(applied("again", { mcpServers }), { commands: [], mcp_servers_applied: false });
});

Deno.test("a message waits for MCP servers, as the hook does that the socket does not wait for", () => {
  const ready = () => {
    const session = simulate({ conversation: true, mcpServers: 1, bridged: ["own"] });
    session.hear({ type: "reachable" });
    session.hear({ type: "status", status: "idle" });
    say(session, "one");
    assertEquals(delivered(session), []);
    return session;
  };
  const session = ready();
  session.hear({ type: "hook", event: "SessionStart", payload: {}, id: "7" });
  session.wait(10_000);
  assertEquals(delivered(session), []);
  session.hear({ type: "mcp", begun: 1, done: 1, settled: { own: "failed" } });
  session.wait(200);
  assertEquals(delivered(session), ["one"]);
  // Without the hook nothing would tell.
  const unheard = ready();
  unheard.wait(4999);
  assertEquals(delivered(unheard), []);
  unheard.wait(1);
  assertEquals(delivered(unheard), ["one"]);
});

Deno.test("a message behind one that needs no child waits for MCP servers all the same", () => {
  const session = simulate({ conversation: true, mcpServers: 1 });
  session.hear({ type: "reachable" });
  status(session, "idle");
  const settled = { kind: "local", text: "x", version: "2.1.332" } as const;
  session.hear({ type: "message", message: { text: "/x", settled } });
  say(session, "one");
  hook(session, "SessionStart", {}, "7");
  assertEquals([turns(session), delivered(session), answers(session)], [["settled"], [], []]);
  session.hear({ type: "mcp", begun: 1, done: 1 });
  session.wait(200);
  assertEquals([delivered(session), answers(session)], [["one"], ["7"]]);
});

Deno.test("calls are put into the background by Ctrl+B, and one alone only where there is no other", () => {
  const session = rested();
  const ask = (body: object = {}) => {
    session.hear({
      type: "control",
      request: { id: "b", subtype: "background_tasks", body: { ...body } },
    });
    return responses(session).at(-1);
  };
  assertEquals(ask(), { subtype: "success", response: {} });
  assertEquals(ask({ tool_use_id: 5 }), {
    subtype: "error",
    error: "background_tasks: tool_use_id must be a string",
  });
  say(session, "one");
  session.hear({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "one" } });
  session.hear(called("a"));
  assertEquals(ask({ tool_use_id: "z" }), {
    subtype: "success",
    response: { backgrounded: false },
  });
  assertEquals(session.typed(), "");
  assertEquals(ask({ tool_use_id: "a" }), { subtype: "success", response: { backgrounded: true } });
  assertEquals(session.typed(), "\x02");
  session.wait(300);
  assertEquals(session.typed(), "\x02\x02", "it may have been too early");
  session.hear(returned("a"));
  session.hear(called("c"));
  session.wait(5000);
  assertEquals(session.typed(), "\x02\x02");
  session.hear(returned("c"));
  session.hear(called("a", "b"));
  assertEquals(ask({ tool_use_id: "a" }), {
    subtype: "error",
    error: 'claude-print can put only all calls into the background at once, and more than "a" ' +
      "are at work",
  });
  assertEquals(ask(), { subtype: "success", response: {} });
  session.wait(60_000);
  assertEquals(session.typed(), "\x02".repeat(22), "not for ever");
});

Deno.test("what a headless Claude Code can tell is asked of one", () => {
  const session = rested();
  const ask = (subtype: string) =>
    session.hear({ type: "control", request: { id: subtype, subtype, body: {} } });
  for (const subtype of ["initialize", "get_settings", "list_models", "read_file"]) ask(subtype);
  const consulted = session.effects.flatMap((effect) =>
    effect.type === "consult" ? [effect.request.subtype] : []
  );
  assertEquals(consulted, ["initialize", "get_settings", "list_models", "read_file"]);
  assertEquals(responses(session), []);
  session.hear({ type: "consulted", id: "list_models", said: { response: { models: [1] } } });
  session.hear({ type: "consulted", id: "list_models", said: { response: { models: [2] } } });
  session.hear({ type: "consulted", id: "nobody's", said: { response: {} } });
  session.hear({ type: "consulted", id: "get_settings", said: { failure: "it is gone" } });
  session.hear({
    type: "consulted",
    id: "read_file",
    said: { error: "read denied", errorCode: "denied" },
  });
  session.hear({ type: "consulted", id: "initialize", said: { failure: "it is gone" } });
  assertEquals(responses(session).slice(1), [
    { subtype: "success", response: { models: [1] } },
    { subtype: "error", error: "Cannot answer get_settings: it is gone" },
    { subtype: "error", error: "read denied", error_code: "denied" },
  ]);
  // Whoever initializes cannot go on without an answer, and gets it first.
  const [initialized] = responses(session);
  assertEquals(initialized?.subtype, "success");
  assertEquals(Object.keys(initialized?.response ?? {}), [
    ...["commands", "agents", "output_style", "available_output_styles", "models", "account"],
  ]);
});

Deno.test("whoever has asked something is answered before the end, whatever the end is", () => {
  const asking = rested();
  asking.hear({ type: "control", request: { id: "a", subtype: "get_settings", body: {} } });
  asking.hear({ type: "closed" });
  assertEquals(asking.signals(), []);
  asking.hear({ type: "consulted", id: "a", said: { response: {} } });
  assertEquals(asking.signals(), ["SIGTERM"]);
  const dying = rested();
  dying.hear({ type: "control", request: { id: "a", subtype: "get_settings", body: {} } });
  dying.hear({ type: "exit", exit: { kind: "exited", code: 1 } });
  assertEquals(responses(dying), [
    { subtype: "error", error: "Cannot answer get_settings: Claude Code has ended meanwhile" },
  ]);
});

Deno.test("what is asked while a child makes way for the next is answered by that one", () => {
  const session = rested();
  const ask = (id: string, subtype: string) =>
    session.hear({ type: "control", request: { id, subtype, body: { model: "m" } } });
  ask("a", "get_settings");
  ask("b", "set_model");
  session.hear({ type: "consulted", id: "b", said: { response: { model: "m" } } });
  say(session, "one");
  ask("c", "mcp_status");
  session.hear({ type: "exit", exit: { kind: "exited", code: 143 } });
  assertEquals(session.ending()?.kind, "renewed");
  assertEquals(responses(session).map(({ subtype }) => subtype), ["success"]);
  assertEquals(unansweredRequests(session.state()).map(({ id }) => id), ["a", "c"]);
});

Deno.test("a message that the child was not given yet can be taken back, and a session be ended", () => {
  const session = rested();
  say(session, "one");
  session.hear({
    type: "message",
    message: { text: "two", way: "rendezvous", priority: "later", uuid: "2" },
  });
  const cancel = (uuid: unknown) =>
    session.hear({
      type: "control",
      request: { id: `${uuid}`, subtype: "cancel_async_message", body: { message_uuid: uuid } },
    });
  for (const uuid of ["2", "2", "nobody's", 7, undefined]) cancel(uuid);
  assertEquals(responses(session).map(({ response }) => response), [
    { cancelled: true, message_uuid: "2" },
    ...Array(4).fill({ cancelled: false }),
  ]);
  assertEquals(session.effects.filter(({ type }) => type === "cancelled").length, 1);
  session.hear({ type: "control", request: { id: "end", subtype: "end_session", body: {} } });
  say(session, "three");
  assertEquals([session.state().open, session.state().dismissed], [false, true]);
  assertEquals([session.state().queue, delivered(session)], [[], ["one"]]);
});

Deno.test("an interrupt tells which messages are still to be answered, and takes back those that the child was not given", () => {
  const interrupted = (body: Readonly<Record<string, unknown>>) => {
    const session = simulate(OPTIONS);
    session.hear({ type: "reachable" });
    status(session, "idle");
    say(session, "one", { uuid: "1" });
    submit(session, "one");
    status(session, "busy");
    promptLine(session, "one");
    say(session, "two", { uuid: "2" });
    say(session, "three", { uuid: "3", priority: "later" });
    say(session, "four", { priority: "later" });
    session.hear({ type: "control", request: { id: "r", subtype: "interrupt", body } });
    const cancelled = session.effects.flatMap((effect) =>
      effect.type === "cancelled" ? [effect.message.text] : []
    );
    return [responses(session).at(-1)?.response, cancelled, session.state().queue.length];
  };
  assertEquals(interrupted({}), [{ still_queued: ["2", "3"] }, [], 2]);
  assertEquals(interrupted({ cancel_queued: 7 }), [{ still_queued: ["2", "3"] }, [], 2]);
  assertEquals(interrupted({ cancel_queued: true }), [
    { still_queued: ["2"], cancelled: ["3"] },
    ["three", "four"],
    0,
  ]);
});

Deno.test("settings that a caller applies are the next child's, and those that end everything are refused", () => {
  const session = rested();
  const apply = (settings: unknown) =>
    session.hear({
      type: "control",
      request: { id: "a", subtype: "apply_flag_settings", body: { settings } },
    });
  apply({ model: "m", env: { A: "1" } });
  apply({ env: null });
  for (
    const refused of [
      ...[7, null, [], { disableAllHooks: true }, { permissions: { defaultMode: "wild" } }],
    ]
  ) {
    apply(refused);
  }
  const told = responses(session).map(({ subtype }) => subtype);
  assertEquals(told, ["success", "success", ...Array(5).fill("error")]);
  assertEquals(session.state().changes, {
    model: "m",
    flagSettings: { model: "m", env: null },
  });
});

Deno.test("of settings that Claude Code does not take nothing is applied, and the keys are named", () => {
  {
    const session = simulate({ conversation: true });
    for (
      const settings of [
        { permissions: null, model: null },
        { model: 5, permissions: { allow: "Bash" }, env: { A: "1" } },
        { hooks: { PreToolUse: 3 } },
        { hooks: { Stop: 3 } },
      ]
    ) {
      session.hear({
        type: "control",
        request: { id: "a", subtype: "apply_flag_settings", body: { settings } },
      });
    }
    const told = responses(session).map(({ error = "" }) => `${error}`.split("of: ")[1]);
    assertEquals(told, [undefined, "permissions, model", "hooks", undefined]);
    assertEquals(session.state().changes?.flagSettings?.["env"], undefined);
  }
});

/** What the caller was answered, without the ids of its requests. */
function responses(session: ReturnType<typeof rested>) {
  return session.effects.flatMap((effect) => {
    if (effect.type !== "respond") return [];
    const { request_id: _, ...response } = effect.response;
    return [response as Readonly<Record<string, unknown>>];
  });
}

Deno.test("a message waits for what an answered initialization has yet to say", () => {
  const session = rested();
  session.hear({ type: "control", request: { id: "1", subtype: "initialize", body: {} } });
  say(session, "one");
  const consulted = (isUndescribed: boolean) => {
    const said = { response: {}, ...(isUndescribed ? { isUndescribed: true as const } : {}) };
    session.hear({ type: "consulted", id: "1", said });
    return session.effects.filter(({ type }) => type === "respond").length;
  };
  assertEquals([consulted(true), delivered(session)], [1, []]);
  assertEquals([consulted(false), delivered(session)], [1, ["one"]]);
});

Deno.test("a change before the first message starts another child at once", () => {
  const caller = { idPrefix: "q", callbacks: [], permissionMode: "default" };
  const choose = (session: Simulation, mode: string) =>
    session.hear({
      type: "control",
      request: { id: mode, subtype: "set_permission_mode", body: { mode } },
    });
  const session = simulate({ ...OPTIONS, caller });
  choose(session, "default");
  session.hear({ type: "reachable" });
  status(session, "idle");
  session.wait(1e9);
  assertEquals(session.ending(), undefined);
  choose(session, "plan");
  choose(session, "acceptEdits");
  assertEquals(session.state().ending, undefined);
  session.wait(200);
  const changes = { permissionMode: "acceptEdits" };
  assertEquals(session.state().ending, { kind: "renewed", changes });
  const begun = simulate({ ...OPTIONS, caller });
  begun.hear({ type: "reachable" });
  status(begun, "idle");
  say(begun, "one");
  answered(begun, "one");
  status(begun, "idle");
  cost(begun);
  choose(begun, "default");
  begun.wait(1000);
  assertEquals([begun.state().ending, phase(begun)], [undefined, "resting"]);
  say(begun, "two");
  assertEquals(begun.state().ending?.kind, "renewed");
});

Deno.test("a child that never reports a status ends at a limit", () => {
  const endings = [true, false].map((isEarly) => {
    const session = simulate(OPTIONS);
    if (isEarly) say(session, "one");
    hook(session, "SessionStart", {});
    session.hear({ type: "reachable" });
    if (!isEarly) say(session, "one");
    session.wait(300_000);
    return session.state().ending?.kind;
  });
  assertEquals(endings, ["not-taken", "not-started"]);
});
