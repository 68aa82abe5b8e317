import { assertEquals } from "@std/assert";
import { readEntry } from "../../../src/transcript/entry.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import { STOP } from "../../../src/session/hook_answers.ts";
import { OUTPUT_REMINDER, OUTPUT_SERVER } from "../../../src/transcript/structured_output.ts";
import { simulate, type Simulation } from "../simulation.ts";

const SCHEMA = { properties: { n: { type: "integer" } } };

/** A session in a turn that owes a structured answer. */
function working(version = "2.1.332", maxTries = 2): Simulation {
  const session = simulate({ prompt: "go", output: { schema: SCHEMA, maxTries } });
  session.receive({ type: "status", status: "busy", version });
  line(session, { type: "user", message: { content: "go" } });
  return session;
}

function line(session: Simulation, written: object): void {
  const entry = readEntry(written);
  if (entry !== undefined) session.receive({ type: "transcript", entry });
}

const says = (session: Simulation, message: JsonObject, problems = {}) =>
  session.receive({ type: "mcp-message", server: OUTPUT_SERVER, message, ...problems });
const calls = (session: Simulation, problems: readonly { text: string; found?: string }[] = []) =>
  says(session, {
    id: 7,
    method: "tools/call",
    params: { _meta: { "claudecode/toolUseId": "toolu_1" } },
  }, { problems });
const heard = ({ effects }: Simulation) =>
  effects.flatMap((effect) => effect.type === "mcp-message" ? [effect.message] : []);
const replies = ({ effects }: Simulation) =>
  effects.flatMap((effect) => effect.type === "answer" ? [effect.reply] : []);
const stops = (session: Simulation, id = "1") =>
  session.receive({ type: "hook", event: "Stop", payload: {}, id });
const toolsReturned = (session: Simulation) =>
  session.receive({ type: "hook", event: "PostToolBatch", payload: {}, id: "2" });

Deno.test("the server for structured answers speaks MCP", () => {
  const session = working();
  says(session, { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25" } });
  says(session, { method: "notifications/initialized" });
  says(session, { id: 2, method: "ping" });
  says(session, { id: 3, method: "tools/list" });
  says(session, { id: 4, method: "prompts/list" });
  const [hello, pong, tools, unknown, ...more] = heard(session).map(({ result, error }) =>
    result ?? error
  ) as readonly JsonObject[];
  assertEquals(hello?.["protocolVersion"], "2025-11-25");
  assertEquals(pong, {});
  const [tool] = tools?.["tools"] as readonly JsonObject[];
  assertEquals(tool?.["inputSchema"], { ...SCHEMA, type: "object" });
  assertEquals(unknown, { code: -32601, message: "Method not found" });
  assertEquals(more, []);
});

Deno.test("what was found is told, and the turn goes on", () => {
  const session = working();
  calls(session, [{ text: "/a: wrong" }, { text: "/b: too long", found: " (got 3)" }]);
  assertEquals(heard(session).map(({ result }) => result), [{
    content: [{
      type: "text",
      text: "Output does not match required schema: /a: wrong, /b: too long (got 3)",
    }],
    isError: true,
  }]);
});

Deno.test("a turn is over with an answer only once the transcript holds its result", () => {
  const session = working();
  calls(session);
  assertEquals(heard(session).map(({ result }) => (result as JsonObject)["_meta"]), [
    { "claude/endTurn": true },
  ]);
  stops(session);
  session.receive({ type: "status", status: "idle" });
  assertEquals(session.ending, undefined);
  assertEquals(session.signals, []);
  line(session, {
    type: "user",
    message: { content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "" }] },
  });
  assertEquals(session.signals, ["SIGTERM"]);
});

Deno.test("a model that forgets its answer is reminded once, whatever it tried before", () => {
  const session = working();
  calls(session, [{ text: "/a: wrong" }]);
  stops(session);
  assertEquals(replies(session), [{ decision: "block", reason: OUTPUT_REMINDER }]);
  assertEquals(session.state.phase, "working");
  stops(session);
  assertEquals(replies(session).at(-1), undefined);
  session.receive({ type: "status", status: "idle" });
  assertEquals(session.signals, ["SIGTERM"]);
});

Deno.test("a model is stopped after its last try, and not after one that was taken", () => {
  const session = working();
  calls(session, [{ text: "/a: wrong" }]);
  toolsReturned(session);
  assertEquals(replies(session), [undefined]);
  calls(session, [{ text: "/a: wrong" }]);
  toolsReturned(session);
  assertEquals(replies(session).at(-1)?.["continue"], false);
  session.receive({ type: "status", status: "idle" });
  session.receive({ type: "exit", exit: { kind: "exited", code: 0 } });
  assertEquals(session.ending, { kind: "output-tries" });

  const taken = working("2.1.332", 1);
  calls(taken);
  toolsReturned(taken);
  assertEquals(replies(taken), [undefined]);
});

Deno.test("without a try left at all any tool is the last", () => {
  const session = working("2.1.332", 0);
  toolsReturned(session);
  assertEquals(replies(session).map((reply) => reply?.["continue"]), [false]);
});

Deno.test("a model is reminded in vain that has made as many requests as it may", () => {
  const session = simulate({
    prompt: "go",
    output: { schema: SCHEMA, maxTries: 2 },
    maxTurns: 1,
  });
  session.receive({ type: "status", status: "busy", version: "2.1.332" });
  line(session, { type: "user", message: { content: "go" } });
  stops(session);
  assertEquals(replies(session), [{ decision: "block", reason: OUTPUT_REMINDER, ...STOP }]);
  line(session, { type: "system", subtype: "turn_duration" });
  session.receive({ type: "status", status: "idle" });
  assertEquals(session.signals, ["SIGTERM"]);
});
