import { assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../../src/json_object.ts";
import {
  answerOnServers,
  reachableServers,
  serversError,
  setServers,
} from "../../../src/conversation/protocol/requests/mcp_requests.ts";
import { STOP } from "../../../src/conversation/control/hook_answers.ts";
import type { OutputProblem } from "../../../src/conversation/control/input.ts";
import type { SessionState } from "../../../src/conversation/control/session_state.ts";
import {
  OUTPUT_REMINDER,
  OUTPUT_SERVER,
} from "../../../src/claude/transcript/structured_output_tool.ts";
import { answer, call, COMPLETED, returned, userLine } from "../control/lines.ts";
import {
  caller,
  CLOSED,
  consulted,
  failure,
  fromServer,
  message,
  reply,
  request,
} from "../control/caller_inputs.ts";
import { BUSY, exit, hook, IDLE, READ, stop } from "../control/inputs.ts";
import { rested, run, simulate, type Simulation, working } from "../control/simulation.ts";

const own = { caller: caller({ permissions: true, servers: ["calc"] }) };
const toCalc = (id: number | undefined, method: string, more: JsonObject = {}) =>
  fromServer("calc", { jsonrpc: "2.0", ...(id === undefined ? {} : { id }), method, ...more });
const toChild = (session: Simulation) => session.of("mcp-message").map(({ message }) => message);
const answered = (result: JsonObject, id?: string) =>
  reply({ mcp_response: { jsonrpc: "2.0", id: 0, result } }, id);

Deno.test("caller answers the child's messages to its server", () => {
  const session = working(own);
  session.receive(toCalc(7, "tools/list"), toCalc(undefined, "notifications/initialized"));
  assertEquals<unknown>(
    session.asked,
    [
      { jsonrpc: "2.0", id: 7, method: "tools/list" },
      { jsonrpc: "2.0", method: "notifications/initialized" },
    ].map((message) => ({ subtype: "mcp_message", server_name: "calc", message })),
  );
  session.receive(answered({ tools: [] }), answered({}, "q-2"));
  assertEquals(toChild(session), [{ jsonrpc: "2.0", id: 7, result: { tools: [] } }]);
});

/** A call of a tool of the caller's server, for the call of that id in the transcript. */
const callTool = (id: number, call?: string) => {
  const _meta = call === undefined ? {} : { _meta: { "claudecode/toolUseId": call } };
  return toCalc(id, "tools/call", { params: { name: "add", ..._meta } });
};
const askedIds = ({ asked }: Simulation) =>
  asked.map((question) =>
    question.subtype === "mcp_message" ? (question.message as { id: number }).id : undefined
  );

Deno.test("caller's tool is called once its call is emitted", () => {
  const session = working(own, callTool(1, "toolu_1"), callTool(2), toCalc(3, "tools/list"));
  assertEquals(askedIds(session), [2, 3]);
  session.receive(call("toolu_1", {}), READ);
  assertEquals(askedIds(session), [2, 3, 1]);
  session.receive(hook("PermissionRequest", { tool_name: "Bash", tool_input: {} }, "7"));
  session.receive(reply({ behavior: "allow" }, "q-4"), callTool(4, "toolu_1"));
  assertEquals(askedIds(session), [2, 3, 1, undefined, 4], "its permission changes nothing");
});

Deno.test("caller's tool does not run after its turn", () => {
  const session = working(own, callTool(1, "toolu_1"));
  session.wait(5000);
  session.receive(callTool(2, "toolu_2"), request("interrupt"));
  assertEquals(askedIds(session), [1]);
  assertEquals(toChild(session).map(({ id, error }) => [id, error !== undefined]), [[2, true]]);
});

Deno.test("server call without an answer ends in an error", () => {
  const session = working(own);
  const codes = () => toChild(session).map(({ error }) => (error as { code: number }).code);
  session.receive(callTool(1), callTool(2), callTool(3));
  session.receive(failure("broken"), reply({ nothing: true }, "q-2"), CLOSED, callTool(4));
  assertEquals(codes(), Array(4).fill(-32603));
  session.receive(toCalc(5, "server/discover"));
  assertEquals([codes().at(-1), session.asked.length], [-32601, 3]);
});

Deno.test("answer beyond Claude Code's limit becomes an error", () => {
  for (const [length, kind] of [[16_777_100, "result"], [16_777_216, "error"]] as const) {
    const session = working(own, toCalc(3, "tools/list"), answered({ x: "x".repeat(length) }));
    assertEquals(toChild(session).map((each) => Object.keys(each)), [["jsonrpc", "id", kind]]);
  }
});

Deno.test("server that does not initialize has failed", () => {
  const cancel = (requestId: number) =>
    toCalc(undefined, "notifications/cancelled", { params: { requestId } });
  for (const [last, ...before] of [[failure("no such server")], [cancel(3), cancel(4)]] as const) {
    const session = working(own, toCalc(3, "initialize"), ...before);
    assertEquals(session.state.callerServers.get("calc"), undefined);
    session.receive(last);
    assertEquals(session.state.callerServers.get("calc"), { failed: true });
  }
});

/** A session whose caller has a server of its own, and has set another one. */
function withServers(more: Partial<SessionState> = {}): SessionState {
  const setServers = { set: { command: "x" }, own: { type: "sdk" } };
  const asked = caller({ servers: ["own", "quiet"], setServers, switched: { off: false } });
  const tools = [{ name: "t", annotations: { destructiveHint: true, openWorldHint: 7 } }];
  const servers = new Map([["own", { serverInfo: { name: "o" }, tools }]]);
  return { ...simulate({ caller: asked }).state, callerServers: servers, ...more } as SessionState;
}

const TOLD = {
  mcpServers: [
    { name: "set", status: "connected", serverInfo: {}, tools: [] },
    { name: "off", status: "disabled" },
    { name: "broken", status: "failed", error: "no such file" },
    { name: "mute", status: "failed" },
    7,
  ],
};
const onServers = (subtype: string, body: JsonObject = {}, more: Partial<SessionState> = {}) =>
  answerOnServers(withServers(more), { request: { id: "r", subtype, body }, told: TOLD });
const listed = (more: Partial<SessionState> = {}) => {
  const told = onServers("mcp_status", {}, more);
  const { mcpServers } = "response" in told && told.response ? told.response : {};
  return mcpServers as readonly JsonObject[];
};

Deno.test("mcp_status lists the caller's servers and later changes", () => {
  const states = (more: Partial<SessionState> = {}) =>
    listed(more).map(({ name, status }) => `${name} ${status}`);
  const failed = ["broken failed", "mute failed"];
  assertEquals(states(), [
    ...["set connected", "off disabled", ...failed, "own connected", "quiet pending"],
  ]);
  const servers = new Map([["quiet", { failed: true } as const]]);
  assertEquals(states({ callerServers: servers }).slice(-2), ["own pending", "quiet failed"]);
  const switched = { off: true, own: false, set: false };
  assertEquals(states({ changes: { switched } }), [
    ...["set disabled", "off pending", ...failed, "own disabled", "quiet pending"],
  ]);
  const set = { new: { command: "y" }, mine: { type: "sdk" } };
  assertEquals(states({ changes: { setServers: set } }), [
    ...["off disabled", ...failed, "new pending", "mine pending"],
  ]);
  assertEquals(listed().find(({ name }) => name === "own"), {
    ...{ name: "own", status: "connected", transport: "sdk", scope: "dynamic", source: "sdk" },
    serverInfo: { name: "o" },
    tools: [{ name: "t", annotations: { destructive: true } }],
  });
});

Deno.test("servers can be switched and reconnected", () => {
  const rows = [
    ["own", false, { changes: { switched: { own: false } } }],
    ["off", true, { changes: { switched: { off: true } } }],
    ["none", true, { error: "Server not found: none" }],
  ] as const;
  for (const [serverName, enabled, expected] of rows) {
    assertEquals<unknown>(onServers("mcp_toggle", { serverName, enabled }), expected);
  }
  const reconnect = (serverName: string) => onServers("mcp_reconnect", { serverName });
  assertEquals(reconnect("set"), { changes: {} });
  assertEquals(reconnect("broken"), { error: "no such file" });
  assertEquals(reconnect("mute"), { error: "Connection failed" });
  for (const name of ["own", "off", "none"]) assertEquals("error" in reconnect(name), true);
});

Deno.test("serversError() names malformed fields", () => {
  const problem = (subtype: string, body: JsonObject = {}) =>
    serversError(withServers(), { id: "r", subtype, body });
  const toggle = { serverName: "a", enabled: "no" };
  assertEquals(problem("mcp_status"), undefined);
  assertEquals(problem("mcp_reconnect"), "mcp_reconnect: serverName must be a string");
  assertEquals(problem("mcp_toggle", toggle), "mcp_toggle: enabled must be a boolean");
  const read = (serverName: string) => problem("mcp_read_resource", { serverName });
  assertEquals(read("broken"), undefined);
  assertStringIncludes(`${read("own")}`, "does not reach it");
});

Deno.test("set servers replace those from before", () => {
  const setting = (servers: unknown) => ({
    id: "r",
    subtype: "mcp_set_servers",
    body: { servers },
  });
  const set = (servers: unknown) => setServers(withServers(), setting(servers));
  const servers = { set: { command: "z" }, own: { type: "sdk" }, new: {} };
  assertEquals(set(servers), {
    response: { added: ["new"], removed: ["quiet"], errors: {} },
    changes: { setServers: servers, unreached: [] },
  });
  const asked = setting({
    ...{ gone: { command: "x" }, ide: { type: "sse-ide" }, own: { type: "sdk" } },
  });
  assertEquals(reachableServers(asked.body), { gone: { command: "x" }, ide: { type: "sse-ide" } });
  // A refused server does not exist; one that cannot be reached does.
  const errors = { gone: "ENOENT", ide: "Ignored" };
  assertEquals(setServers(withServers(), asked, { added: ["gone"], removed: [], errors }), {
    response: { added: ["gone"], removed: ["set", "quiet"], errors },
    changes: { setServers: { gone: { command: "x" }, own: { type: "sdk" } }, unreached: ["gone"] },
  });
  const error = "mcp_set_servers: servers must be an object of config objects";
  for (const nonsense of [7, null, [], { a: 7 }]) assertEquals(set(nonsense), { error });
});

Deno.test("requests about servers are answered before the next message", () => {
  const session = rested({ caller: caller({ setServers: {} }) });
  const servers = { new: { command: "x" } };
  session.receive(request("mcp_status"), request("mcp_set_servers", { servers }), message("hello"));
  assertEquals(session.respondedTo, []);
  session.receive(consulted("mcp_status", { response: TOLD }));
  assertEquals([session.respondedTo, session.delivered], [["mcp_status"], []]);
  assertEquals(JSON.stringify(session.responses).includes('"new"'), false);
  session.receive(consulted("mcp_set_servers", { failure: "gone" }));
  assertEquals(session.respondedTo, ["mcp_status", "mcp_set_servers"]);
  assertEquals(session.state.changes?.setServers, servers);
});

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
