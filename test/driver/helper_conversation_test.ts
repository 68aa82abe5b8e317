import { assert, assertEquals } from "@std/assert";
import { openHelperConversation } from "../../src/driver/effects/helper_conversation.ts";
import {
  completeChoice,
  type HelperAnswer,
  parseAnswer,
  splitByServers,
} from "../../src/driver/effects/helper_protocol.ts";
import type { JsonObject } from "../../src/json_object.ts";
import { SLASH_COMMAND } from "../../src/conversation/protocol/requests/slash_commands.ts";
import { SET_MODEL } from "../../src/conversation/protocol/requests/child_changes.ts";

const request = (subtype: string, body: JsonObject = {}) => ({ id: "1", subtype, body });
const noting = (subtype: string, body: JsonObject = {}) => ({
  ...request(subtype, body),
  notes: true as const,
});
const success = (place: string, response: JsonObject = {}) => ({
  type: "control_response",
  response: { subtype: "success", request_id: place, response },
});
const result = { type: "result", result: "Done", num_turns: 0, is_error: false };

Deno.test("initialize is answered at once, then with system/init", () => {
  const open = new Map([["0", request("mcp_status")], ["1", request("initialize")]]);
  const talk = openHelperConversation(open, { scribe: {} });
  assert(talk.startsServers);
  const types = talk.firstLines.map((line) => (line as JsonObject)["type"]);
  assertEquals(types, ["control_request", "user"]);
  const response = { pid: Deno.pid };
  const first = [{ place: "1", said: { response, isUndescribed: true as const } }];
  assertEquals(talk.receive(success("1", { pid: 1 })).answers, first);
  const init = { type: "system", subtype: "init" };
  const { answers, send, isDone } = talk.receive(init);
  assertEquals(answers, [{ place: "1", said: { response, init } }]);
  assertEquals(send?.map((line) => (line as JsonObject)["request_id"]), ["0"]);
  assertEquals([isDone, talk.takeServerQuestions()], [undefined, []]);
  assertEquals(talk.receive(success("0", { mcpServers: [] })).answers, [
    { place: "0", said: { response: { mcpServers: [] } } },
  ]);
});

Deno.test("initialize before the caller asks is not answered", () => {
  const initialize = { ...request("initialize"), ahead: true as const };
  const talk = openHelperConversation(new Map([["0", initialize]]), undefined);
  assertEquals(talk.receive(success("0")).answers, []);
});

Deno.test("initialize is answered without system/init at the end", () => {
  const talk = openHelperConversation(new Map([["0", request("initialize")]]), undefined);
  talk.receive(success("0"));
  assertEquals(talk.takeDeferred(), [{ place: "0", said: { response: {} } }]);
  assertEquals(talk.takeDeferred(), []);
});

Deno.test("changed settings are answered with system/init", () => {
  const talk = openHelperConversation(new Map([["0", request("update_settings")]]), undefined);
  const types = talk.firstLines.map((line) => (line as JsonObject)["type"]);
  assertEquals(types, ["control_request", "user"]);
  assertEquals(talk.receive(success("0")).answers, []);
  const init = { type: "system", subtype: "init", output_style: "mine" };
  assertEquals(talk.receive(init).answers, [{ place: "0", said: { response: {}, init } }]);
});

Deno.test("a noted command reports settings before and after it", () => {
  const command = noting(SLASH_COMMAND, { prompt: "/model haiku" });
  const talk = openHelperConversation(new Map([["0", command]]), undefined);
  const asked = ({ send = [] }: { readonly send?: readonly unknown[] }) =>
    send.map((line) => (line as JsonObject)["request_id"] ?? (line as JsonObject)["type"]);
  assertEquals(asked({ send: talk.firstLines }), ["before"]);
  assertEquals(asked(talk.receive(success("before", { applied: { model: "opus" } }))), ["user"]);
  const told = talk.receive(result);
  assertEquals([asked(told), told.answers], [["after"], undefined]);
  assertEquals(talk.receive(success("after", { applied: { model: "haiku" } })), { isDone: true });
  const response = { text: "Done", before: { model: "opus" }, after: { model: "haiku" } };
  assertEquals(talk.finalAnswers(), [{ place: "0", said: { response } }]);
});

Deno.test("a noted choice of model waits for its message", () => {
  const choice = noting(SET_MODEL, { model: "haiku" });
  const talk = openHelperConversation(new Map([["0", choice]]), undefined);
  assertEquals(talk.receive(success("0 before", { applied: { model: "opus" } })).answers, []);
  assertEquals(talk.receive(success("0")).answers, []);
  assertEquals(talk.writesCommandsOnly, false);
  const { send } = talk.receive(success("0 after", { applied: { model: "haiku" } }));
  assertEquals(send?.length, 1);
  assertEquals(talk.receive(result), { answers: [], send: [], isDone: true });
  assert(talk.writesCommandsOnly);
  const response = { before: { model: "opus" }, after: { model: "haiku" } };
  assertEquals(talk.finalAnswers(), [{ place: "0", said: { response } }]);
});

Deno.test("a caller cannot have a request noted", () => {
  const open = new Map([["0", request("get_settings", { notes: true, clears: true })]]);
  const { writesTranscript, startsSession, firstLines } = openHelperConversation(open, undefined);
  assertEquals([writesTranscript, startsSession], [false, false]);
  assertEquals(JSON.stringify(firstLines).includes("notes"), true);
});

Deno.test("a failed request is not noted", () => {
  const open = new Map([["0", noting(SET_MODEL)], ["1", request("get_settings")]]);
  const talk = openHelperConversation(open, undefined);
  assertEquals(talk.receive(success("1")).answers?.map(({ place }) => place), ["1"]);
  const failure = { subtype: "error", request_id: "0", error: "No such model" };
  talk.receive({ type: "control_response", response: failure });
  talk.receive(success("0 before"));
  assertEquals(talk.receive(success("0 after")).answers, [
    { place: "0", said: { error: "No such model" } },
  ]);
  assertEquals([talk.finalAnswers(), talk.writesCommandsOnly], [[], false]);
});

/** The answer in a control_response. */
function answer(request_id: string, answer: Readonly<Record<string, unknown>>): HelperAnswer {
  const response = { subtype: "success", request_id, ...answer };
  return parseAnswer({ type: "control_response", response }) ??
    { place: "", said: { failure: "" } };
}

Deno.test("set_model is between two requests for settings", () => {
  const request = { id: "m", subtype: "set_model", body: { model: "haiku" } };
  const [lines] = splitByServers(new Map([["3", request]]), undefined);
  assertEquals(lines.map(({ request_id, request }) => [request_id, request.subtype]), [
    ["3 before", "get_settings"],
    ["3", "set_model"],
    ["3 after", "get_settings"],
  ]);
});

Deno.test("mcp_set_servers keeps its order among requests about servers", () => {
  const askedAs = (...subtypes: readonly string[]) => {
    const open = new Map(
      subtypes.map((subtype, at) => [`${at}`, { id: `${at}`, subtype, body: {} }]),
    );
    return splitByServers(open, undefined).map((lines) => lines.map(({ request_id: id }) => id));
  };
  assertEquals(askedAs("mcp_set_servers", "get_settings"), [["0", "1"], []]);
  assertEquals(askedAs("mcp_status", "mcp_set_servers", "get_settings", "mcp_status"), [
    ["2"],
    ["0", "1", "3"],
  ]);
});

Deno.test("the answer to set_model is complete in any order", () => {
  const inForce = (model: string) => ({ response: { applied: { model } } });
  const parts = [
    answer("3 before", inForce("a")),
    answer("3", { response: { model: "b" } }),
    answer("3 after", inForce("c")),
  ];
  for (const order of [[0, 1, 2], [0, 2, 1]]) {
    const collected = new Map<string, HelperAnswer>();
    const wholes = order.map((place) => completeChoice(collected, parts[place] ?? answer("", {})));
    assertEquals<unknown>(wholes, [undefined, undefined, {
      place: "3",
      said: { response: { model: "b", before: { model: "a" }, after: { model: "c" } } },
    }]);
  }
});

Deno.test("a refused set_model names the current model", () => {
  const refused = answer("3", { subtype: "error", error: "no", error_code: "unknown", model: "a" });
  const collected = new Map<string, HelperAnswer>();
  for (const part of [answer("3 before", {}), answer("3 after", {})]) {
    completeChoice(collected, part);
  }
  assertEquals(completeChoice(collected, refused)?.said, {
    error: "no",
    errorCode: "unknown",
    model: "a",
  });
});

Deno.test("listed hooks are enabled unless the child runs none", () => {
  const listing = { hooks: [{ event: "Stop", disabled: true }], policy: { allDisabled: true } };
  assertEquals(answer("1", { response: listing }).said, {
    response: { hooks: [{ event: "Stop" }], policy: { allDisabled: false } },
  });
  const bare = { ...listing, bareMode: { exitHint: "" } };
  assertEquals(answer("1", { response: bare }).said, { response: bare });
});
