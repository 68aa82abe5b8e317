import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  answerOnServers,
  reachableServers,
  serversError,
  setServers,
} from "../../../src/session/control/servers.ts";
import type { SessionState } from "../../../src/session/session_state.ts";
import type { JsonObject } from "../../../src/json_object.ts";
import { simulate } from "../simulation.ts";

/** A session whose caller has a server of its own, and has set another one. */
function session(more: Partial<SessionState> = {}): SessionState {
  const caller = {
    idPrefix: "q",
    callbacks: [],
    servers: ["own", "quiet"],
    setServers: { set: { command: "x" }, own: { type: "sdk" } },
    switched: { off: false },
  };
  const begun = simulate({ version: "2.1.332", caller }).state;
  const tools = [{ name: "t", annotations: { destructiveHint: true, openWorldHint: 7 } }];
  const servers = new Map([["own", { serverInfo: { name: "o" }, tools }]]);
  return { ...begun, servers, ...more } as SessionState;
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

const answer = (subtype: string, body: JsonObject = {}, more: Partial<SessionState> = {}) =>
  answerOnServers(session(more), { request: { id: "r", subtype, body }, told: TOLD });

const states = (more: Partial<SessionState> = {}) => {
  const told = answer("mcp_status", {}, more);
  const { mcpServers } = "response" in told && told.response ? told.response : {};
  return (mcpServers as readonly JsonObject[]).map(({ name, status }) => `${name} ${status}`);
};

Deno.test("servers are listed with the caller's own, and with what it has changed since", () => {
  const others = ["broken failed", "mute failed"];
  assertEquals(states(), [
    "set connected",
    "off disabled",
    ...others,
    "own connected",
    "quiet pending",
  ]);
  const servers = new Map([["quiet", { failed: true } as const]]);
  assertEquals(states({ servers }).slice(-2), ["own pending", "quiet failed"]);
  assertEquals(states({ changes: { switched: { off: true, own: false, set: false } } }), [
    "set disabled",
    "off pending",
    ...others,
    "own disabled",
    "quiet pending",
  ]);
  const set = { new: { command: "y" }, mine: { type: "sdk" } };
  assertEquals(states({ changes: { setServers: set } }), [
    "off disabled",
    ...others,
    "new pending",
    "mine pending",
  ]);
  const told = answer("mcp_status");
  const { mcpServers } = "response" in told && told.response ? told.response : {};
  assertEquals((mcpServers as readonly JsonObject[]).find(({ name }) => name === "own"), {
    name: "own",
    status: "connected",
    transport: "sdk",
    scope: "dynamic",
    source: "sdk",
    serverInfo: { name: "o" },
    tools: [{ name: "t", annotations: { destructive: true } }],
  });
});

Deno.test("one server is switched or connected anew, or the caller is told why not", () => {
  const on = (serverName: string, enabled: boolean) =>
    answer("mcp_toggle", { serverName, enabled });
  assertEquals(on("own", false), { changes: { switched: { own: false } } });
  assertEquals(on("off", true), { changes: { switched: { off: true } } });
  assertEquals(on("none", true), { error: "Server not found: none" });
  const reconnect = (serverName: string) => answer("mcp_reconnect", { serverName });
  assertEquals(reconnect("set"), { changes: {} });
  assertEquals(reconnect("broken"), { error: "no such file" });
  assertEquals(reconnect("mute"), { error: "Connection failed" });
  assertEquals(
    ["own", "off", "none"].map((name) => "error" in reconnect(name)),
    [true, true, true],
  );
  const problem = (subtype: string, body: JsonObject) =>
    serversError(session(), { id: "r", subtype, body });
  assertEquals(problem("mcp_status", {}), undefined);
  assertEquals(problem("mcp_reconnect", {}), "mcp_reconnect: serverName must be a string");
  assertEquals(
    problem("mcp_toggle", { serverName: "a", enabled: "no" }),
    "mcp_toggle: enabled must be a boolean",
  );
  const read = (serverName: string) => problem("mcp_read_resource", { serverName });
  assertEquals(read("broken"), undefined);
  assertStringIncludes(`${read("own")}`, "does not reach it");
});

Deno.test("servers that are set take the place of those that were", () => {
  const set = (servers: unknown) =>
    setServers(session(), { id: "r", subtype: "mcp_set_servers", body: { servers } });
  assertEquals(set({ set: { command: "z" }, own: { type: "sdk" }, new: {} }), {
    response: { added: ["new"], removed: ["quiet"], errors: {} },
    changes: {
      setServers: { set: { command: "z" }, own: { type: "sdk" }, new: {} },
      unreached: [],
    },
  });
  const request = {
    id: "r",
    subtype: "mcp_set_servers",
    body: { servers: { gone: { command: "x" }, ide: { type: "sse-ide" }, own: { type: "sdk" } } },
  };
  assertEquals(reachableServers(request.body), {
    gone: { command: "x" },
    ide: { type: "sse-ide" },
  });
  // What is not taken at all is not there, and what cannot be reached is there all the same.
  const errors = { gone: "ENOENT", ide: "Ignored" };
  assertEquals(setServers(session(), request, { added: ["gone"], removed: [], errors }), {
    response: { added: ["gone"], removed: ["set", "quiet"], errors },
    changes: {
      setServers: { gone: { command: "x" }, own: { type: "sdk" } },
      unreached: ["gone"],
    },
  });
  for (const nonsense of [7, null, [], { a: 7 }]) {
    assertEquals(set(nonsense), {
      error: "mcp_set_servers: servers must be an object of config objects",
    });
  }
});

Deno.test("requests about servers are answered in their order, and hold for the next message", () => {
  const caller = { idPrefix: "q", callbacks: [], setServers: {} };
  const session = simulate({ conversation: true, version: "2.1.332", caller });
  session.receive({ type: "reachable" });
  session.receive({ type: "status", status: "idle" });
  const ask = (subtype: string, body: JsonObject = {}) =>
    session.receive({ type: "control", request: { id: subtype, subtype, body } });
  const seen = () =>
    session.effects.flatMap((effect) =>
      effect.type === "respond"
        ? [effect.response.request_id]
        : effect.type === "deliver" || (effect.type === "end")
        ? [effect.type]
        : []
    );
  ask("mcp_status");
  ask("mcp_set_servers", { servers: { new: { command: "x" } } });
  session.receive({ type: "message", message: { text: "hello", way: "rendezvous" } });
  assertEquals(seen(), []);
  session.receive({ type: "consulted", id: "mcp_status", said: { response: TOLD } });
  assertEquals(seen(), ["mcp_status"]);
  const [status] = session.effects.flatMap((each) => each.type === "respond" ? [each] : []);
  assertEquals(JSON.stringify(status).includes('"new"'), false);
  session.receive({ type: "consulted", id: "mcp_set_servers", said: { failure: "gone" } });
  assertEquals(seen()[1], "mcp_set_servers");
  assertEquals(session.state.changes?.setServers, { new: { command: "x" } });
});
