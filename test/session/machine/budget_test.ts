import { assertEquals } from "@std/assert";
import { OVERSPENT, STOP } from "../../../src/session/hook_answers.ts";
import type { Message } from "../../../src/session/message.ts";
import { answer, called, COMPLETED, PROMPT, returned } from "../../transcript/lines.ts";
import { simulate, type Simulation } from "../simulation.ts";

const cost = (session: Simulation, totalUsd: number, apiDurationMs = 1) =>
  session.receive({ type: "cost", totalUsd, apiDurationMs });
const tool = (session: Simulation, id: string, payload: Readonly<Record<string, unknown>> = {}) =>
  session.receive({ type: "hook", event: "PreToolUse", payload, id });
const answers = ({ effects }: Simulation) =>
  effects.filter((effect) => effect.type === "answer").map(({ id, reply }) => [id, reply]);

/** A turn under way, whose session may cost a dollar. */
function begun(options: Parameters<typeof simulate>[0] = {}): Simulation {
  const session = simulate({ maxBudgetUsd: 1, ...options });
  session.receive({ type: "status", status: "busy" });
  session.receive(PROMPT);
  cost(session, 0);
  session.receive(called("t1"));
  return session;
}

Deno.test("a tool waits until the answer that calls it has been paid, and its fellows do not wait again", () => {
  const session = begun();
  tool(session, "a");
  assertEquals(answers(session), []);
  cost(session, 0.4);
  tool(session, "b");
  assertEquals(answers(session), [["a", undefined], ["b", undefined]]);
  session.receive({ type: "hook", event: "PostToolBatch", payload: {}, id: "batch" });
  tool(session, "c");
  assertEquals(answers(session).map(([id]) => id), ["a", "b", "batch"]);
  cost(session, 0.9);
  assertEquals(answers(session).map(([id]) => id), ["a", "b", "batch", "c"]);
  assertEquals(session.signals, []);
});

Deno.test("a status line that tells of nothing new pays no answer, and one without a price does by its time", () => {
  const session = begun();
  tool(session, "a");
  cost(session, 0);
  assertEquals(answers(session), []);
  cost(session, 0, 20);
  assertEquals(answers(session), [["a", undefined]]);
});

Deno.test("each subagent's answers are paid for themselves", () => {
  const session = begun();
  tool(session, "a");
  cost(session, 0.1);
  tool(session, "sub", { agent_id: "s1" });
  assertEquals(answers(session).map(([id]) => id), ["a"]);
  cost(session, 0.2);
  tool(session, "sub again", { agent_id: "s1" });
  assertEquals(answers(session).map(([id]) => id), ["a", "sub", "sub again"]);
});

Deno.test("a child that tells no price does not keep a tool waiting for ever", () => {
  const session = begun();
  tool(session, "a");
  session.wait(10_000);
  assertEquals(answers(session), [["a", undefined]]);
});

Deno.test("a run ends before the first tool that it cannot afford", () => {
  const session = begun();
  tool(session, "a");
  cost(session, 1);
  assertEquals(answers(session), []);
  assertEquals(session.signals, ["SIGTERM tree"]);
  session.receive({ type: "exit", exit: { kind: "exited", code: 143 } });
  assertEquals(session.ending, { kind: "budget" });
});

Deno.test("what is known to be unaffordable does not wait for a price", () => {
  const session = begun();
  cost(session, 2);
  tool(session, "a");
  assertEquals(session.signals, ["SIGTERM tree"]);
});

Deno.test("an answer that uses the budget up is over as any other: its result tells", () => {
  const session = begun();
  session.receive(answer("hi"));
  session.receive({ type: "hook", event: "Stop", payload: { last_assistant_message: "hi" } });
  cost(session, 5);
  session.receive({ type: "status", status: "idle" });
  session.receive({ type: "exit", exit: { kind: "exited", code: 143 } });
  assertEquals(session.ending?.kind, "answered");
});

Deno.test("in a conversation the tools are refused, the child lives on, and no further message reaches it", () => {
  const session = simulate({ conversation: true, version: "2.1.332", maxBudgetUsd: 1 });
  const say = (text: string, ticket: string) =>
    session.receive({ type: "message", message: { text, way: "rendezvous", ticket } as Message });
  const turns = () =>
    session.effects.filter((effect) => effect.type === "turn")
      .map(({ ending, tickets }) => [ending.kind, tickets]);
  session.receive({ type: "reachable" });
  session.receive({ type: "status", status: "idle" });
  say("hello there", "one");
  session.receive({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "hello there" } });
  session.receive({ type: "status", status: "busy" });
  session.receive(PROMPT);
  session.receive(called("t1"));
  tool(session, "a");
  cost(session, 1.5);
  assertEquals(answers(session), [["a", OVERSPENT]]);
  for (const input of [{ type: "status", status: "idle" }, returned("t1")] as const) {
    session.receive(input);
    assertEquals(turns(), [], "what became of the tools is to be on record");
  }
  session.receive(COMPLETED);
  assertEquals([turns(), session.signals], [[["budget", ["one"]]], []]);
  const delivered = session.effects.filter(({ type }) => type === "deliver").length;
  say("and now", "two");
  assertEquals(turns(), [["budget", ["one"]], ["settled", ["two"]]]);
  assertEquals(session.effects.filter(({ type }) => type === "deliver").length, delivered);
  session.receive({ type: "closed" });
  assertEquals(session.signals, ["SIGTERM"]);
});

Deno.test("in a conversation no request follows the tools of an answer that has used the budget up", () => {
  for (const agent of [{}, { agent_id: "s1" }]) {
    const session = begun({ conversation: true });
    tool(session, "a", agent);
    cost(session, 1.5);
    // A child that does not end its turn because a tool was refused would tell the model so.
    session.receive({ type: "hook", event: "PostToolBatch", payload: agent, id: "batch" });
    assertEquals(answers(session), [["a", OVERSPENT], ["batch", STOP]]);
    for (const input of [returned("t1"), COMPLETED, { type: "status", status: "idle" }] as const) {
      session.receive(input);
    }
    const turns = session.effects.filter((effect) => effect.type === "turn");
    assertEquals(turns.map(({ ending }) => ending.kind), ["budget"]);
    assertEquals(session.signals, []);
  }
});

Deno.test("what tools themselves have cost counts before the model is asked again", () => {
  const session = begun();
  tool(session, "a");
  cost(session, 0.5);
  cost(session, 1.5);
  session.receive({ type: "hook", event: "PostToolBatch", payload: {}, id: "batch" });
  assertEquals(answers(session), [["a", undefined], ["batch", STOP]]);
  session.receive(returned("t1"));
  session.receive(COMPLETED);
  session.receive({ type: "status", status: "idle" });
  session.receive({ type: "exit", exit: { kind: "exited", code: 143 } });
  assertEquals(session.ending, { kind: "budget" });
});

Deno.test("what was paid before the child counts, and once", () => {
  for (const [total, signals] of [[0.2, []], [0.7, ["SIGTERM tree"]], [0.95, []]] as const) {
    const session = begun({ paidUsd: 0.75, maxBudgetUsd: 1 });
    tool(session, "a");
    cost(session, total);
    assertEquals(session.signals, signals, `${total}`);
  }
});
