import { assert, assertEquals } from "@std/assert";
import { talkAbout } from "../../src/driver/effects/helper_conversation.ts";
import {
  answerIn,
  choiceOf,
  partition,
  type TwinAnswer,
} from "../../src/driver/effects/helper_protocol.ts";
import type { JsonObject } from "../../src/json_object.ts";
import { COMMAND } from "../../src/conversation/protocol/requests/asked_command.ts";
import { CHOOSING } from "../../src/conversation/protocol/requests/choosing_model.ts";

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
  const talk = talkAbout(open, { scribe: {} });
  assert(talk.startsServers);
  const types = talk.beginning.map((line) => (line as JsonObject)["type"]);
  assertEquals(types, ["control_request", "user"]);
  const response = { pid: Deno.pid };
  const first = [{ place: "1", said: { response, isUndescribed: true as const } }];
  assertEquals(talk.hear(success("1", { pid: 1 })).answers, first);
  const init = { type: "system", subtype: "init" };
  const { answers, say, isOver } = talk.hear(init);
  assertEquals(answers, [{ place: "1", said: { response, init } }]);
  assertEquals(say?.map((line) => (line as JsonObject)["request_id"]), ["0"]);
  assertEquals([isOver, talk.takeOnServers()], [undefined, []]);
  assertEquals(talk.hear(success("0", { mcpServers: [] })).answers, [
    { place: "0", said: { response: { mcpServers: [] } } },
  ]);
});

Deno.test("initialize before the caller asks is not answered", () => {
  const initialize = { ...request("initialize"), ahead: true as const };
  const talk = talkAbout(new Map([["0", initialize]]), undefined);
  assertEquals(talk.hear(success("0")).answers, []);
});

Deno.test("initialize is answered without system/init at the end", () => {
  const talk = talkAbout(new Map([["0", request("initialize")]]), undefined);
  talk.hear(success("0"));
  assertEquals(talk.rest(), [{ place: "0", said: { response: {} } }]);
  assertEquals(talk.rest(), []);
});

Deno.test("changed settings are answered with system/init", () => {
  const talk = talkAbout(new Map([["0", request("update_settings")]]), undefined);
  const types = talk.beginning.map((line) => (line as JsonObject)["type"]);
  assertEquals(types, ["control_request", "user"]);
  assertEquals(talk.hear(success("0")).answers, []);
  const init = { type: "system", subtype: "init", output_style: "mine" };
  assertEquals(talk.hear(init).answers, [{ place: "0", said: { response: {}, init } }]);
});

Deno.test("a noted command reports settings before and after it", () => {
  const command = noting(COMMAND, { prompt: "/model haiku" });
  const talk = talkAbout(new Map([["0", command]]), undefined);
  const asked = ({ say = [] }: { readonly say?: readonly unknown[] }) =>
    say.map((line) => (line as JsonObject)["request_id"] ?? (line as JsonObject)["type"]);
  assertEquals(asked({ say: talk.beginning }), ["before"]);
  assertEquals(asked(talk.hear(success("before", { applied: { model: "opus" } }))), ["user"]);
  const told = talk.hear(result);
  assertEquals([asked(told), told.answers], [["after"], undefined]);
  assertEquals(talk.hear(success("after", { applied: { model: "haiku" } })), { isOver: true });
  const response = { text: "Done", before: { model: "opus" }, after: { model: "haiku" } };
  assertEquals(talk.last(), [{ place: "0", said: { response } }]);
});

Deno.test("a noted choice of model waits for its message", () => {
  const choice = noting(CHOOSING, { model: "haiku" });
  const talk = talkAbout(new Map([["0", choice]]), undefined);
  assertEquals(talk.hear(success("0 before", { applied: { model: "opus" } })).answers, []);
  assertEquals(talk.hear(success("0")).answers, []);
  assertEquals(talk.notesCommandsAlone, false);
  const { say } = talk.hear(success("0 after", { applied: { model: "haiku" } }));
  assertEquals(say?.length, 1);
  assertEquals(talk.hear(result), { answers: [], say: [], isOver: true });
  assert(talk.notesCommandsAlone);
  const response = { before: { model: "opus" }, after: { model: "haiku" } };
  assertEquals(talk.last(), [{ place: "0", said: { response } }]);
});

Deno.test("a caller cannot have a request noted", () => {
  const open = new Map([["0", request("get_settings", { notes: true, clears: true })]]);
  const { notes, clears, beginning } = talkAbout(open, undefined);
  assertEquals([notes, clears], [false, false]);
  assertEquals(JSON.stringify(beginning).includes("notes"), true);
});

Deno.test("a failed request is not noted", () => {
  const open = new Map([["0", noting(CHOOSING)], ["1", request("get_settings")]]);
  const talk = talkAbout(open, undefined);
  assertEquals(talk.hear(success("1")).answers?.map(({ place }) => place), ["1"]);
  const failure = { subtype: "error", request_id: "0", error: "No such model" };
  talk.hear({ type: "control_response", response: failure });
  talk.hear(success("0 before"));
  assertEquals(talk.hear(success("0 after")).answers, [
    { place: "0", said: { error: "No such model" } },
  ]);
  assertEquals([talk.last(), talk.notesCommandsAlone], [[], false]);
});

/** The answer in a control_response. */
function answer(request_id: string, answer: Readonly<Record<string, unknown>>): TwinAnswer {
  const response = { subtype: "success", request_id, ...answer };
  return answerIn({ type: "control_response", response }) ?? { place: "", said: { failure: "" } };
}

Deno.test("set_model is between two requests for settings", () => {
  const request = { id: "m", subtype: "set_model", body: { model: "haiku" } };
  const [lines] = partition(new Map([["3", request]]), undefined);
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
    return partition(open, undefined).map((lines) => lines.map(({ request_id: id }) => id));
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
    const collected = new Map<string, TwinAnswer>();
    const wholes = order.map((place) => choiceOf(collected, parts[place] ?? answer("", {})));
    assertEquals<unknown>(wholes, [undefined, undefined, {
      place: "3",
      said: { response: { model: "b", before: { model: "a" }, after: { model: "c" } } },
    }]);
  }
});

Deno.test("a refused set_model names the current model", () => {
  const refused = answer("3", { subtype: "error", error: "no", error_code: "unknown", model: "a" });
  const collected = new Map<string, TwinAnswer>();
  for (const part of [answer("3 before", {}), answer("3 after", {})]) choiceOf(collected, part);
  assertEquals(choiceOf(collected, refused)?.said, {
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
