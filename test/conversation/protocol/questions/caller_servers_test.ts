import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../../../src/json_object.ts";
import { call } from "../../control/lines.ts";
import {
  caller,
  CLOSED,
  failure,
  fromServer,
  reply,
  request,
} from "../../control/caller_inputs.ts";
import { hook, READ } from "../../control/inputs.ts";
import { type Simulation, working } from "../../control/simulation.ts";

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
