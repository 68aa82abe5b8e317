import { assert, assertEquals } from "@std/assert";
import { talkAbout } from "../../src/driver/hands/twin_talk.ts";
import { COMMAND } from "../../src/session/control/requests/asked_command.ts";
import { CHOOSING } from "../../src/session/control/requests/choosing_model.ts";
import type { JsonObject } from "../../src/json_object.ts";

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

Deno.test("an initialization is answered at once, and again with what the session is like", () => {
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

Deno.test("an initialization that nobody has asked for yet is answered once", () => {
  const initialize = { ...request("initialize"), ahead: true as const };
  const talk = talkAbout(new Map([["0", initialize]]), undefined);
  assertEquals(talk.hear(success("0")).answers, []);
});

Deno.test("an initialization is answered without that where the session never says what it is like", () => {
  const talk = talkAbout(new Map([["0", request("initialize")]]), undefined);
  talk.hear(success("0"));
  assertEquals(talk.rest(), [{ place: "0", said: { response: {} } }]);
  assertEquals(talk.rest(), []);
});

Deno.test("what changes settings is answered with what the session is like by then", () => {
  const talk = talkAbout(new Map([["0", request("update_settings")]]), undefined);
  const types = talk.beginning.map((line) => (line as JsonObject)["type"]);
  assertEquals(types, ["control_request", "user"]);
  assertEquals(talk.hear(success("0")).answers, []);
  const init = { type: "system", subtype: "init", output_style: "mine" };
  assertEquals(talk.hear(init).answers, [{ place: "0", said: { response: {}, init } }]);
});

Deno.test("a command that is noted in the session says what is in force before and after it, once all is written", () => {
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

Deno.test("a choice of a model that is noted waits for the message with which it is written down", () => {
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

Deno.test("what a caller asks for notes nothing because its request says so", () => {
  const open = new Map([["0", request("get_settings", { notes: true, clears: true })]]);
  const { notes, clears, beginning } = talkAbout(open, undefined);
  assertEquals([notes, clears], [false, false]);
  assertEquals(JSON.stringify(beginning).includes("notes"), true);
});

Deno.test("one that fails is not noted, and what is answered besides is heard", () => {
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
