import { assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../../../src/json_object.ts";
import type { SessionState } from "../../../../src/conversation/control/session_state.ts";
import {
  answerOnServers,
  reachableServers,
  serversError,
  setServers,
} from "../../../../src/conversation/protocol/requests/mcp_requests.ts";
import { caller, consulted, message, request } from "../../control/caller_inputs.ts";
import { rested, simulate } from "../../control/simulation.ts";

/** A session whose caller has a server of its own, and has set another one. */
function withServers(more: Partial<SessionState> = {}): SessionState {
  const setServers = { set: { command: "x" }, own: { type: "sdk" } };
  const asked = caller({ servers: ["own", "quiet"], setServers, switched: { off: false } });
  const tools = [{ name: "t", annotations: { destructiveHint: true, openWorldHint: 7 } }];
  const servers = new Map([["own", { serverInfo: { name: "o" }, tools }]]);
  return { ...simulate({ caller: asked }).state, callerServers: servers, ...more } as SessionState;
}

const HELPER_ANSWER = {
  mcpServers: [
    { name: "set", status: "connected", serverInfo: {}, tools: [] },
    { name: "off", status: "disabled" },
    { name: "broken", status: "failed", error: "no such file" },
    { name: "mute", status: "failed" },
    7,
  ],
};
const onServers = (subtype: string, body: JsonObject = {}, more: Partial<SessionState> = {}) =>
  answerOnServers(withServers(more), {
    request: { id: "r", subtype, body },
    helperAnswer: HELPER_ANSWER,
  });
const listed = (more: Partial<SessionState> = {}) => {
  const answer = onServers("mcp_status", {}, more);
  const { mcpServers } = "response" in answer && answer.response ? answer.response : {};
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
  session.receive(consulted("mcp_status", { response: HELPER_ANSWER }));
  assertEquals([session.respondedTo, session.delivered], [["mcp_status"], []]);
  assertEquals(JSON.stringify(session.responses).includes('"new"'), false);
  session.receive(consulted("mcp_set_servers", { failure: "gone" }));
  assertEquals(session.respondedTo, ["mcp_status", "mcp_set_servers"]);
  assertEquals(session.state.changes?.setServers, servers);
});
