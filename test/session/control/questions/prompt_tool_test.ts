import { assertEquals } from "@std/assert";
import { readEntry } from "../../../../src/transcript/entry.ts";
import type { JsonObject } from "../../../../src/json_object.ts";
import { simulate, type Simulation } from "../../simulation.ts";

const INPUT = { command: "touch a" };

/** A session of one prompt in which a call needs a permission, and the server has told its tools. */
function asking(tools: readonly string[] = ["ask"], version = "2.1.332"): Simulation {
  const session = simulate({
    prompt: "go",
    caller: {
      idPrefix: "q",
      permissions: true,
      callbacks: [],
      promptTool: { name: "mcp__p_q__ask", server: "p.q", tool: "ask" },
    },
  });
  session.receive({ type: "status", status: "busy", version });
  session.receive({ type: "closed" });
  says(session, { id: 1, result: { tools: tools.map((name) => ({ name })) } });
  const entry = readEntry({
    type: "assistant",
    message: {
      id: "m",
      model: "m",
      content: [{ type: "tool_use", id: "toolu_1", name: "Bash", input: INPUT }],
    },
  });
  if (entry !== undefined) session.receive({ type: "transcript", entry });
  session.receive({ type: "read" });
  session.receive({
    type: "hook",
    event: "PermissionRequest",
    payload: { tool_name: "Bash", tool_input: INPUT },
    id: "7",
  });
  return session;
}

const says = (session: Simulation, message: JsonObject) =>
  session.receive({ type: "mcp-message", server: "p.q", message });
const answers = (session: Simulation, text: string, isError = false) =>
  says(session, { id: "q-1", result: { content: [{ type: "text", text }], isError } });
const decision = ({ effects }: Simulation) => {
  const reply = effects.findLast((effect) => effect.type === "answer")?.reply;
  return (reply?.["hookSpecificOutput"] as JsonObject | undefined)?.["decision"];
};
const outcomes = ({ effects }: Simulation) =>
  effects.flatMap((effect) => effect.type === "decided" ? [effect.decision] : []);

Deno.test("a tool is asked with the call, though nobody else says anything more", () => {
  const session = asking();
  assertEquals(session.effects.filter(({ type }) => type === "mcp-message"), [{
    type: "mcp-message",
    server: "p.q",
    message: {
      jsonrpc: "2.0",
      id: "q-1",
      method: "tools/call",
      params: {
        name: "ask",
        arguments: { tool_name: "Bash", input: INPUT, tool_use_id: "toolu_1" },
        _meta: { "claudecode/toolUseId": "toolu_1" },
      },
    },
  }]);
  answers(session, '{"behavior":"deny","message":"no"}');
  assertEquals(decision(session), { behavior: "deny", message: "no" });
  assertEquals(outcomes(session), ["rejected"]);
  answers(session, '{"behavior":"allow"}');
  assertEquals(outcomes(session), ["rejected"], "an answer that comes twice is nothing");
});

Deno.test("a tool that fails is an error of the call, on which nobody has decided", () => {
  const message = (why: string) => ({
    behavior: "deny",
    message: `<tool_use_error>Error calling tool (Bash): ${why}</tool_use_error>`,
  });
  const failed = asking();
  answers(failed, "out of order", true);
  assertEquals([decision(failed), outcomes(failed)], [message("out of order"), ["late"]]);
  const session = asking();
  says(session, { id: "q-1", error: { code: -1, message: "bad" } });
  assertEquals(decision(session), message("bad"));
});

Deno.test("a tool that the server does not have ends the run", () => {
  const session = asking(["other", "more"]);
  assertEquals(session.signals, ["SIGTERM tree"]);
  session.receive({ type: "exit", exit: { kind: "exited", code: 0 } });
  assertEquals(session.ending, {
    kind: "no-prompt-tool",
    name: "mcp__p_q__ask",
    available: ["mcp__p_q__other", "mcp__p_q__more"],
  });
});

Deno.test("a tool of the caller's own server is asked of the caller", () => {
  const asking = ({ tools = ["ask"], closed = false } = {}) => {
    const session = simulate({
      conversation: true,
      version: "2.1.332",
      caller: {
        idPrefix: "q",
        permissions: true,
        callbacks: [],
        servers: ["own"],
        promptTool: { name: "mcp__own__ask", tool: "ask", ownServer: "own" },
      },
    });
    session.receive({ type: "reachable" });
    session.receive({ type: "status", status: "busy", version: "2.1.332" });
    const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    session.receive({ type: "mcp-message", server: "own", message });
    const listed = { result: { tools: tools.map((name) => ({ name })) } };
    session.receive({
      type: "answer",
      answer: { id: "q-1", response: { mcp_response: { id: 1, ...listed } } },
    });
    if (closed) session.receive({ type: "closed" });
    const content = [{ type: "tool_use", id: "toolu_1", name: "Bash", input: INPUT }];
    const entry = readEntry({ type: "assistant", message: { id: "m", model: "m", content } });
    if (entry !== undefined) session.receive({ type: "transcript", entry });
    session.receive({ type: "read" });
    const payload = { tool_name: "Bash", tool_input: INPUT };
    session.receive({ type: "hook", event: "PermissionRequest", payload, id: "7" });
    return session;
  };
  const said = (answer: JsonObject) => {
    const session = asking();
    session.receive({ type: "answer", answer: { id: "q-2", ...answer } as never });
    return [decision(session), ...outcomes(session)];
  };
  const text = (decided: JsonObject) => ({
    mcp_response: { result: { content: [{ type: "text", text: JSON.stringify(decided) }] } },
  });
  const [, asked] = asking().effects.filter((effect) => effect.type === "ask");
  assertEquals(asked, {
    type: "ask",
    id: "q-2",
    question: {
      subtype: "mcp_message",
      server_name: "own",
      message: {
        jsonrpc: "2.0",
        id: "q-2",
        method: "tools/call",
        params: {
          name: "ask",
          arguments: { tool_name: "Bash", input: INPUT, tool_use_id: "toolu_1" },
          _meta: { "claudecode/toolUseId": "toolu_1" },
        },
      },
    },
  });
  assertEquals(said({ response: text({ behavior: "allow" }) }), [
    { behavior: "allow", updatedInput: INPUT },
    "accepted",
  ]);
  assertEquals(said({ response: text({ behavior: "deny", message: "no" }) }), [
    { behavior: "deny", message: "no" },
    "rejected",
  ]);
  for (const answer of [{ error: "it broke" }, { response: 7 }]) {
    assertEquals(said(answer).at(-1), "late", JSON.stringify(answer));
  }
  assertEquals(outcomes(asking({ closed: true })), ["failed"]);
  const lacking = asking({ tools: ["other"] });
  lacking.receive({ type: "exit", exit: { kind: "exited", code: 0 } });
  assertEquals(lacking.ending, {
    kind: "no-prompt-tool",
    name: "mcp__own__ask",
    available: ["mcp__own__other"],
  });
});
