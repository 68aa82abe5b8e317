import { assertEquals } from "@std/assert";
import type { Consulted } from "../../../../src/session/input.ts";
import type { JsonObject } from "../../../../src/json_object.ts";
import { simulate } from "../../simulation.ts";

/** What comes of a request to change settings, to which a headless Claude Code says something. */
function asked(version: string, body: JsonObject, said: Consulted = { response: {} }) {
  const session = simulate({ conversation: true, version });
  session.hear({ type: "reachable" });
  session.hear({ type: "control", request: { id: "1", subtype: "update_settings", body } });
  session.hear({ type: "consulted", id: "1", said });
  return {
    consulted: session.effects.flatMap((each) => each.type === "consult" ? [each.request] : []),
    answers: session.effects.flatMap((each) => each.type === "respond" ? [each.response] : []),
    changes: session.state().changes,
  };
}

Deno.test("settings of the project are changed by who can, and hold for the next child", () => {
  const body = { source: "localSettings", settings: { outputStyle: "mine" } };
  const { consulted, answers, changes } = asked("2.1.332", body);
  assertEquals(consulted, [{ id: "1", subtype: "update_settings", body }]);
  assertEquals(answers, [{ subtype: "success", request_id: "1", response: {} }]);
  assertEquals(changes, {});
  const refused = asked("2.1.332", body, { error: "no" });
  assertEquals(refused.answers, [{ subtype: "error", request_id: "1", error: "no" }]);
  assertEquals(refused.changes, undefined);
});

Deno.test("settings of the user's own are not changed", () => {
  const body = { source: "userSettings", settings: { effortLevel: "high" } };
  const { consulted, answers, changes } = asked("2.1.332", body);
  assertEquals([consulted, answers.map(({ subtype }) => subtype), changes], [
    [],
    ["error"],
    undefined,
  ]);
});
