import { assertEquals } from "@std/assert";
import { withTold, withUntold } from "../../../src/session/control/questions/told_calls.ts";
import { OVERSPENT, STOP } from "../../../src/session/hook_answers.ts";
import type { SessionState } from "../../../src/session/session_state.ts";
import {
  answer,
  BUSY,
  called,
  caller,
  CLOSED,
  COMPLETED,
  cost,
  EXIT,
  hook,
  IDLE,
  message,
  PROMPT,
  returned,
  stop,
  submit,
  userLine,
} from "../inputs.ts";
import { rested, run, simulate, type Simulation, type SimulationOptions } from "../simulation.ts";

const tool = (id: string, payload = {}) => hook("PreToolUse", payload, id);
const BATCH = hook("PostToolBatch", {}, "batch");

/** A turn under way, whose session may cost a dollar. */
const begun = (options: SimulationOptions = {}) =>
  run({ maxBudgetUsd: 1, ...options }, BUSY, PROMPT, cost(0), called("t1"));

const answers = (session: Simulation) =>
  session.of("answer").map(({ id, reply }) => reply === undefined ? id : [id, reply]);

Deno.test("tools wait once for the cost of their answer", () => {
  const session = begun();
  session.receive(tool("a"));
  assertEquals(answers(session), []);
  session.receive(cost(0.4), tool("b"));
  assertEquals(answers(session), ["a", "b"]);
  session.receive(BATCH, tool("c"));
  assertEquals(answers(session), ["a", "b", "batch"]);
  session.receive(cost(0.9));
  assertEquals([answers(session), session.signals], [["a", "b", "batch", "c"], []]);
});

Deno.test("status line pays an answer by cost or by time", () => {
  const session = begun();
  session.receive(tool("a"), cost(0));
  assertEquals(answers(session), []);
  session.receive(cost(0, 20));
  assertEquals(answers(session), ["a"]);
  const silent = begun();
  silent.receive(tool("a"));
  silent.wait(10_000);
  assertEquals(answers(silent), ["a"], "the wait is bounded");
});

Deno.test("each subagent's answers are paid separately", () => {
  const session = begun();
  session.receive(tool("a"), cost(0.1), tool("sub", { agent_id: "s1" }));
  assertEquals(answers(session), ["a"]);
  session.receive(cost(0.2), tool("sub again", { agent_id: "s1" }));
  assertEquals(answers(session), ["a", "sub", "sub again"]);
});

Deno.test("run ends before the first tool beyond its budget", () => {
  const session = begun();
  session.receive(tool("a"), cost(1));
  assertEquals([answers(session), session.signals], [[], ["SIGTERM tree"]]);
  session.receive(EXIT);
  assertEquals(session.ending, { kind: "budget" });
  const known = begun();
  known.receive(cost(2), tool("a"));
  assertEquals(known.signals, ["SIGTERM tree"], "the cost was known before");
});

Deno.test("final answer may use the budget up", () => {
  const session = begun();
  session.receive(answer("hi"), stop("hi"), cost(5), IDLE, EXIT);
  assertEquals(session.ending?.kind, "answered");
});

Deno.test("cost of tools counts before the next request", () => {
  const session = begun();
  session.receive(tool("a"), cost(0.5), cost(1.5), BATCH);
  assertEquals(answers(session), ["a", ["batch", STOP]]);
  session.receive(returned("t1"), COMPLETED, IDLE, EXIT);
  assertEquals(session.ending, { kind: "budget" });
});

Deno.test("cost from before the child counts once", () => {
  for (const [total, signals] of [[0.2, []], [0.7, ["SIGTERM tree"]], [0.95, []]] as const) {
    const session = begun({ paidUsd: 0.75 });
    session.receive(tool("a"), cost(total));
    assertEquals(session.signals, signals, `${total}`);
  }
});

Deno.test("conversation beyond its budget refuses tools and later messages", () => {
  const session = rested({ maxBudgetUsd: 1 });
  session.receive(message("hello there", { ticket: "one" }), submit("hello there"), BUSY, PROMPT);
  session.receive(called("t1"), tool("a"), cost(1.5));
  assertEquals(answers(session), [["a", OVERSPENT]]);
  for (const input of [IDLE, returned("t1"), COMPLETED]) {
    assertEquals(session.turns, [], "the results of the tools have to be written");
    session.receive(input);
  }
  assertEquals([session.turns, session.signals], [["budget"], []]);
  session.receive(message("and now", { ticket: "two" }));
  assertEquals(session.turns, ["budget", "settled"]);
  assertEquals([session.tickets, session.delivered], [[["one"], ["two"]], ["hello there"]]);
  session.receive(CLOSED);
  assertEquals(session.signals, ["SIGTERM"]);
});

Deno.test("no request follows tools beyond a conversation's budget", () => {
  for (const agent of [{}, { agent_id: "s1" }]) {
    const session = begun({ conversation: true });
    // A child whose tool was refused would tell the model so.
    session.receive(tool("a", agent), cost(1.5), hook("PostToolBatch", agent, "batch"));
    assertEquals(answers(session), [["a", OVERSPENT], ["batch", STOP]]);
    session.receive(returned("t1"), COMPLETED, IDLE);
    assertEquals([session.turns, session.signals], [["budget"], []]);
  }
});

/** The skills whose calls are refused; undefined for all skills chosen. */
function refused(called: readonly unknown[], skills: readonly string[] | undefined, more = {}) {
  const session = run({ ...(skills === undefined ? {} : { skills }), ...more }, BUSY);
  for (const [place, skill] of called.entries()) {
    session.receive(tool(`${place}`, { tool_name: "Skill", tool_input: { skill } }));
  }
  session.receive(tool("Bash", { tool_name: "Bash", tool_input: { skill: "nested" } }));
  return session.of("answer").flatMap(({ id, reply }) =>
    reply === undefined ? [] : [called[Number(id)]]
  );
}

Deno.test("only skills that the caller chose are loaded", () => {
  const loaded = ["alpha", "/alpha", " alpha ", "other:alpha", "plug:beta"];
  const others = ["nested", "alphabet", "alpha:x", "beta", "__proto__", "constructor", "", 7];
  const chosen = ["alpha", "plug:beta"];
  for (const budget of [{}, { maxBudgetUsd: 1 }]) {
    assertEquals(refused([...loaded, ...others], chosen, budget), others);
  }
  assertEquals(refused(others, undefined), []);
  assertEquals(refused(["alpha"], []), ["alpha"]);
});

Deno.test("calls of a subagent are forgotten once it is over", () => {
  type Line = readonly [agentId: string | undefined, ReturnType<typeof userLine>];
  const told = (before: SessionState, ...lines: readonly Line[]): SessionState =>
    withTold(lines.reduce(
      (state, [agentId, { entry }]) =>
        withUntold(state, entry, agentId === undefined ? {} : { agentId }),
      before,
    ));
  const ids = ({ calls }: SessionState) => calls.map(({ id }) => id);
  const result = (id: string, toolUseResult: object) =>
    userLine([{ type: "tool_result", tool_use_id: id, content: "" }], { toolUseResult });
  const atWork = told(
    simulate({ caller: caller() }).state,
    [undefined, called("one", "two")],
    ...["a", "b"].flatMap((agent): readonly Line[] => [
      [agent, called(`${agent}1`)],
      [agent, returned(`${agent}1`)],
    ]),
  );
  assertEquals([ids(atWork), [...atWork.silent]], [["one", "two", "a1", "b1"], ["a", "b"]]);
  const completed = result("one", { agentId: "a", status: "completed" });
  const over = told(atWork, ["a", answer("Done.")], [undefined, completed]);
  assertEquals([ids(over), [...over.silent]], [["one", "two", "b1"], ["b"]]);
  const next = told(over, [undefined, result("two", { agentId: "b", isAsync: true })]);
  assertEquals(ids(next), ["one", "two", "b1"], "it works in the background");
  assertEquals(ids(told(next, [undefined, called("three")])), ["b1", "three"]);
});
