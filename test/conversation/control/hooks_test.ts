import { assertEquals } from "@std/assert";
import {
  deferLine,
  recordPrintedLines,
} from "../../../src/conversation/protocol/questions/printed_calls.ts";
import { denial, OVERSPENT, STOP } from "../../../src/conversation/control/hook_answers.ts";
import type { SessionState } from "../../../src/conversation/control/session_state.ts";
import { denialText } from "../../../src/claude/transcript/permission_denials.ts";
import { answer, called, COMPLETED, INTERRUPTED, PROMPT, returned, userLine } from "./lines.ts";
import { caller, CLOSED, fromServer, message, settledMessage } from "./caller_inputs.ts";
import {
  BUSY,
  cost,
  EXIT,
  type Given,
  hook,
  IDLE,
  REACHABLE,
  signal,
  stop,
  submit,
  VERSION,
} from "./inputs.ts";
import {
  assertAfter,
  rested,
  run,
  simulate,
  type Simulation,
  type SimulationOptions,
} from "./simulation.ts";

const START = hook("SessionStart", {}, "7");
type Settled = Readonly<Record<string, "connected" | "failed">>;
const servers = (begun: number, done: number, settled?: Settled) =>
  ({ type: "mcp", begun, done, ...(settled === undefined ? {} : { settled }) }) as const;

/** Checks that the hook of the start is answered after this time, and not before. */
const answeredAfter = (session: Simulation, ms: number) =>
  assertAfter(ms, session, "answered", [[], ["7"]]);

Deno.test("first request waits up to 2 s for MCP servers", () => {
  // On a busy machine the status is read before the hook is.
  const connecting = run({ mcpServers: 2 }, IDLE, BUSY, START, servers(1, 1));
  connecting.wait(1000);
  connecting.receive(servers(2, 2));
  answeredAfter(connecting, 200);
  const hanging = run({ mcpServers: 1 }, START);
  answeredAfter(hanging, 2000);
  hanging.receive(servers(1, 1));
  hanging.wait(5000);
  assertEquals(hanging.answered, ["7"]);
  // A compaction or another session is not the first request.
  hanging.receive(hook("SessionStart", {}, "8"));
  assertEquals(hanging.answered, ["7", "8"]);
});

Deno.test("first request waits for bridged servers until they answer twice", () => {
  const session = run({ mcpServers: 2, bridged: ["ours"] }, START);
  session.wait(3000);
  session.receive(servers(2, 0, {}));
  session.wait(5000);
  assertEquals(session.answered, []);
  session.receive(servers(2, 1, { ours: "connected" }));
  session.wait(40);
  // A child that answers a second time has run its timers, and has the server's tools.
  const pong = fromServer("ours", { jsonrpc: "2.0", id: "claude-print-ping", result: {} });
  const seen = () => [session.of("mcp-message").length, session.answered.length];
  assertEquals(seen(), [1, 0]);
  session.receive(pong);
  assertEquals(seen(), [2, 0]);
  session.receive(pong, pong);
  assertEquals(seen(), [2, 1]);
  const silent = run({ mcpServers: 1, bridged: ["ours"] }, START);
  silent.receive(servers(1, 1, { ours: "connected" }));
  answeredAfter(silent, 5040);
});

Deno.test("first request waits 30 s for servers that never connect", () => {
  const limits = { mcpServers: 1, deliveryTimeoutMs: 60_000 };
  const bridged = run({ ...limits, bridged: ["ours"] }, START);
  const awaited = run({ ...limits, awaited: ["theirs"] }, START, servers(1, 0, {}));
  for (const session of [bridged, awaited]) {
    session.wait(2000);
    answeredAfter(session, 28_000);
  }
});

Deno.test("first request waits for servers of the command line", () => {
  const slow = run({ mcpServers: 2, awaited: ["theirs"] }, START, servers(2, 0, {}));
  slow.wait(12_000);
  slow.receive(servers(2, 1, { theirs: "failed" }));
  answeredAfter(slow, 200);
  // A server that a policy forbids is not connected to.
  answeredAfter(run({ mcpServers: 1, awaited: ["theirs"] }, START), 2000);
});

Deno.test("message waits for MCP servers", () => {
  const ready = (options: SimulationOptions, ...before: readonly Given[]) => {
    const session = rested({ mcpServers: 1, ...options }, ...before, message("one"));
    assertEquals(session.delivered, []);
    return session;
  };
  const session = ready({ bridged: ["own"] });
  session.receive(START);
  session.wait(10_000);
  assertEquals(session.delivered, []);
  session.receive(servers(1, 1, { own: "failed" }));
  session.wait(200);
  assertEquals(session.delivered, ["one"]);
  const silent = ready({ bridged: ["own"] });
  silent.wait(4999);
  assertEquals(silent.delivered, []);
  silent.wait(1);
  assertEquals(silent.delivered, ["one"], "no hook came");
  const settled = settledMessage("/x", { kind: "local", text: "x", version: VERSION });
  const second = ready({}, settled);
  second.receive(START);
  assertEquals([second.turns, second.delivered, second.answered], [["settled"], [], []]);
  second.receive(servers(1, 1));
  second.wait(200);
  assertEquals([second.delivered, second.answered], [["one"], ["7"]]);
});

Deno.test("child that never reports a status ends at a limit", () => {
  const rows = [
    [[message("one"), hook("SessionStart"), REACHABLE], "not-taken"],
    [[hook("SessionStart"), REACHABLE, message("one")], "not-started"],
  ] as const;
  for (const [inputs, ending] of rows) {
    const session = run({ conversation: true, keptAtEnd: true, timeoutMs: 60_000 }, ...inputs);
    session.wait(300_000);
    assertEquals(session.state.ending?.kind, ending);
  }
});

Deno.test("permissions are refused before, during and after an interrupt", () => {
  const asks = (id: string, payload = {}) => hook("PermissionRequest", payload, id);
  const call = { tool_name: "Write", tool_input: { file_path: "a.txt" }, cwd: "/p" };
  const session = run({}, BUSY, asks("7", call));
  const words =
    "Claude requested permissions to write to /p/a.txt, but you haven't granted it yet.";
  assertEquals(session.replies, [denial(words)]);
  session.receive(signal("SIGTERM"), asks("8"), INTERRUPTED, asks("9"), EXIT);
  assertEquals(session.answered, ["7", "8", "9"]);
});

Deno.test("unattended session refuses permissions in its own words", () => {
  const payload = { tool_name: 1, tool_input: "x" };
  const session = run({ unattended: true }, BUSY, hook("PermissionRequest", payload, "7"));
  const words = denialText({ tool: "a tool", input: {}, cwd: "/" }, { unattended: true });
  assertEquals(session.replies, [denial(words)]);
});

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
  assertEquals(session.exit(), { kind: "budget" });
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

Deno.test("turn goes on after a background subagent's last tool", () => {
  const session = begun({ conversation: true });
  const launched = { isAsync: true, status: "async_launched", agentId: "s1" };
  const content = [{ type: "tool_result", tool_use_id: "t1", content: "" }];
  session.receive(userLine(content, { toolUseResult: launched }));
  session.receive(tool("a", { agent_id: "s1" }), cost(1.5));
  assertEquals([answers(session), session.state.phase], [[["a", OVERSPENT]], "working"]);
  session.receive(tool("b"));
  assertEquals([answers(session).at(-1), session.state.phase], [["b", OVERSPENT], "settling"]);
});

Deno.test("budget takes back neither a signal nor a turn's end", () => {
  const refused = [["a", OVERSPENT]];
  const session = begun({ conversation: true });
  session.receive(tool("a"), signal("SIGTERM"), cost(1.5), INTERRUPTED);
  assertEquals([answers(session), session.signals], [refused, ["SIGTERM tree"]]);
  assertEquals(session.exit(), { kind: "interrupted", signal: "SIGTERM" });
  const late = begun({ conversation: true });
  late.receive(answer("hi"), stop("hi"), COMPLETED, IDLE, cost(0.5));
  late.receive(tool("a", { agent_id: "s1" }), cost(1.5), IDLE, COMPLETED);
  assertEquals([answers(late), late.turns], [refused, ["answered"]]);
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
    recordPrintedLines(lines.reduce(
      (state, [agentId, { entry }]) =>
        deferLine(state, entry, agentId === undefined ? {} : { agentId }),
      before,
    ));
  const ids = ({ printedCalls }: SessionState) => printedCalls.map(({ id }) => id);
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
  assertEquals([ids(atWork), [...atWork.silentAgents]], [["one", "two", "a1", "b1"], ["a", "b"]]);
  const completed = result("one", { agentId: "a", status: "completed" });
  const over = told(atWork, ["a", answer("Done.")], [undefined, completed]);
  assertEquals([ids(over), [...over.silentAgents]], [["one", "two", "b1"], ["b"]]);
  const next = told(over, [undefined, result("two", { agentId: "b", isAsync: true })]);
  assertEquals(ids(next), ["one", "two", "b1"], "it works in the background");
  assertEquals(ids(told(next, [undefined, called("three")])), ["b1", "three"]);
});
