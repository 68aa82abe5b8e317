import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../../src/json_object.ts";
import {
  OUTPUT_REMINDER,
  OUTPUT_SERVER,
} from "../../../src/claude/transcript/structured_output_tool.ts";
import { STOP } from "../../../src/conversation/control/hook_answers.ts";
import type { OutputProblem } from "../../../src/conversation/control/input.ts";
import { fromServer } from "../control/caller_inputs.ts";
import { BUSY, exit, hook, IDLE, stop } from "../control/inputs.ts";
import { answer, COMPLETED, returned, userLine } from "../control/lines.ts";
import { run, type Simulation } from "../control/simulation.ts";

const SCHEMA = { properties: { n: { type: "integer" } } };

/** A run that owes a structured answer. */
function owing(maxTries = 2, more = {}): Simulation {
  const output = { schema: SCHEMA, maxTries };
  return run({ prompt: "go", output, ...more }, BUSY, userLine("go"));
}
const tries = (...problems: readonly OutputProblem[]) => {
  const params = { _meta: { "claudecode/toolUseId": "toolu_1" } };
  return { ...fromServer(OUTPUT_SERVER, { id: 7, method: "tools/call", params }), problems };
};
const toChild = (session: Simulation) => session.of("mcp-message").map(({ message }) => message);
const WRONG = tries({ text: "/a: wrong" });
const ANSWERED = tries();
const BATCH = hook("PostToolBatch", {}, "2");
const STOPS = stop(undefined, {}, "1");
const results = (session: Simulation) => toChild(session).map(({ result }) => result as JsonObject);

Deno.test("server for structured answers speaks MCP", () => {
  const session = owing();
  const rows = [
    [1, "initialize", { protocolVersion: "2025-11-25" }],
    [undefined, "notifications/initialized", {}],
    [2, "ping", {}],
    [3, "tools/list", {}],
    [4, "prompts/list", {}],
  ] as const;
  for (const [id, method, params] of rows) {
    const withId = id === undefined ? {} : { id };
    session.receive(fromServer(OUTPUT_SERVER, { ...withId, method, params }));
  }
  const [hello, pong, tools, unknown, ...more] = toChild(session)
    .map(({ result, error }) => (result ?? error) as JsonObject);
  assertEquals(hello?.["protocolVersion"], "2025-11-25");
  const [tool] = tools?.["tools"] as readonly JsonObject[];
  assertEquals(tool?.["inputSchema"], { ...SCHEMA, type: "object" });
  const notFound = { code: -32601, message: "Method not found" };
  assertEquals([pong, unknown, more], [{}, notFound, []]);
});

Deno.test("model reads how its structured answer is wrong", () => {
  const session = owing();
  session.receive(tries({ text: "/a: wrong" }, { text: "/b: too long", found: " (got 3)" }));
  const text = "Output does not match required schema: /a: wrong, /b: too long (got 3)";
  assertEquals(results(session), [{ content: [{ type: "text", text }], isError: true }]);
});

Deno.test("structured answer ends the turn once its result is written", () => {
  const session = owing();
  session.receive(answer("So"), ANSWERED, STOPS, IDLE);
  assertEquals(results(session).map(({ _meta }) => _meta), [{ "claude/endTurn": true }]);
  assertEquals(session.signals, []);
  session.receive(returned("toolu_1"));
  assertEquals(session.signals, ["SIGTERM"]);
});

Deno.test("model without a structured answer is reminded once", () => {
  const session = owing();
  session.receive(WRONG, STOPS);
  const reminder = { decision: "block", reason: OUTPUT_REMINDER };
  assertEquals([session.replies, session.state.phase], [[reminder], "working"]);
  session.receive(STOPS, IDLE);
  assertEquals([session.replies.at(-1), session.signals], [undefined, ["SIGTERM"]]);
  const last = owing(2, { maxTurns: 1 });
  last.receive(STOPS);
  assertEquals(last.replies, [{ ...reminder, ...STOP }], "no request is left");
  last.receive(COMPLETED, IDLE);
  assertEquals(last.signals, ["SIGTERM"]);
});

Deno.test("model is stopped after its last try", () => {
  const session = owing();
  session.receive(WRONG, BATCH);
  assertEquals(session.replies, [undefined]);
  session.receive(WRONG, BATCH);
  assertEquals(session.replies.at(-1)?.["continue"], false);
  session.receive(IDLE, exit(0));
  assertEquals(session.ending, { kind: "output-tries" });
  const accepted = owing(1);
  accepted.receive(ANSWERED, BATCH);
  assertEquals(accepted.replies, [undefined]);
  const none = owing(0);
  none.receive(BATCH);
  assertEquals(none.replies.map((each) => each?.["continue"]), [false]);
});
