import { assertEquals } from "@std/assert";
import type { Consulted } from "../../../../src/session/input.ts";
import { simulate } from "../../simulation.ts";

/** A conversation in which models are chosen, before its first turn, in the middle of it, or after that. */
function choosing(version: string, { turns }: { readonly turns: 0 | 0.5 | 1 }) {
  const session = simulate({ conversation: true, version });
  session.hear({ type: "reachable" });
  session.hear({ type: "status", status: "idle" });
  if (turns > 0) {
    const text = "hello";
    session.hear({ type: "message", message: { text, way: "rendezvous" } });
    session.hear({ type: "hook", event: "UserPromptSubmit", payload: { prompt: text } });
    session.hear({ type: "status", status: "busy" });
  }
  if (turns === 1) {
    session.hear({ type: "hook", event: "Stop", payload: {} });
    session.hear({ type: "status", status: "idle" });
    session.wait(60_000);
  }
  return {
    session,
    /** What is said once a caller has chosen a model. */
    choose(model: unknown, said: Consulted) {
      const { length } = session.effects;
      session.hear({
        type: "control",
        request: { id: "m", subtype: "set_model", body: model === undefined ? {} : { model } },
      });
      session.hear({ type: "consulted", id: "m", said });
      return session.effects.slice(length).flatMap((effect): readonly unknown[] => {
        if (effect.type === "model") return [`tells ${effect.model}`];
        return effect.type === "respond" ? [effect.response] : [];
      });
    },
  };
}

/** What a headless Claude Code says of a choice. */
function inForce(before: string, after: string, response = {}): Consulted {
  return { response: { ...response, before: { model: before }, after: { model: after } } };
}

Deno.test("a chosen model is told by its full name, as in claude -p of 2.1.330", () => {
  const success = (model: string) => ({ subtype: "success", request_id: "m", response: { model } });
  const { choose, session } = choosing("2.1.332", { turns: 1 });
  // What is in force afterwards is told before the choice is made.
  const said = (model: string) => inForce("claude-opus-5-5", "claude-opus-5-5", { model });
  assertEquals(choose(undefined, said("claude-opus-5-5")), [success("claude-opus-5-5")]);
  assertEquals(choose(" sonnet ", said("claude-sonnet-5-5")), [
    "tells sonnet (claude-sonnet-5-5)",
    success("claude-sonnet-5-5"),
  ]);
  assertEquals(choose("opusplan", said("claude-sonnet-5-5")), [success("claude-sonnet-5-5")]);
  assertEquals(choose("claude-haiku-5-5", said("claude-haiku-5-5")), [
    "tells claude-haiku-5-5",
    success("claude-haiku-5-5"),
  ]);
  assertEquals(choose("default", said("claude-opus-5-5")), [
    "tells claude-opus-5-5",
    success("claude-opus-5-5"),
  ]);
  assertEquals(session.state().changes, { model: null, chosenModel: "claude-opus-5-5" });
  const early = choosing("2.1.332", { turns: 0 });
  assertEquals(early.choose("haiku", said("claude-haiku-5-5")), [success("claude-haiku-5-5")]);
  const under = choosing("2.1.332", { turns: 0.5 });
  assertEquals(under.choose("claude-haiku-5-5", said("claude-haiku-5-5")), [
    "tells claude-haiku-5-5",
    success("claude-haiku-5-5"),
  ]);
});

Deno.test("settings are told with the model that has been chosen, though the child is still another one's", () => {
  const { choose, session } = choosing("2.1.332", { turns: 1 });
  const asked = (id: string, response: object) => {
    const { length } = session.effects;
    session.hear({ type: "control", request: { id, subtype: "get_settings", body: {} } });
    session.hear({ type: "consulted", id, said: { response: { ...response } } });
    return session.effects.slice(length).flatMap((effect) =>
      effect.type === "respond" && "response" in effect.response ? [effect.response.response] : []
    );
  };
  const settings = { sources: [], applied: { model: "claude-opus-5-5", effort: "high" } };
  assertEquals<unknown>(asked("a", settings), [settings]);
  choose("sonnet", inForce("claude-opus-5-5", "claude-opus-5-5", { model: "claude-sonnet-5-5" }));
  const applied = { model: "claude-sonnet-5-5", effort: "high" };
  assertEquals<unknown>(asked("b", settings), [{ ...settings, applied }]);
  assertEquals<unknown>(asked("c", { applied: null }), [{ applied: null }]);
});

Deno.test("a model that Claude Code does not take is refused in its words, and changes nothing", () => {
  const { choose, session } = choosing("2.1.332", { turns: 1 });
  const said = { error: "unrecognized", errorCode: "catalog_unknown", model: "claude-opus-5-5" };
  assertEquals(choose("", said), [{
    subtype: "error",
    request_id: "m",
    error: "unrecognized",
    error_code: "catalog_unknown",
    model: "claude-opus-5-5",
  }]);
  assertEquals(session.state().changes, undefined);
});

Deno.test("a model is chosen by the words of the request where nobody could be asked", () => {
  const { choose, session } = choosing("2.1.332", { turns: 1 });
  assertEquals(choose("haiku", { failure: "it is gone" }), [
    "tells haiku",
    { subtype: "success", request_id: "m", response: { model: "haiku" } },
  ]);
  assertEquals(session.state().changes, { model: "haiku" });
});

Deno.test("a message that follows a choice goes to the Claude Code that is started with it", () => {
  const { session } = choosing("2.1.332", { turns: 1 });
  session.hear({
    type: "control",
    request: { id: "m", subtype: "set_model", body: { model: "haiku" } },
  });
  session.hear({ type: "message", message: { text: "hello", way: "rendezvous" } });
  assertEquals(
    session.effects.filter(({ type }) => type === "deliver" || type === "kill").length,
    1,
  );
  session.hear({ type: "consulted", id: "m", said: { response: { model: "claude-haiku-5-5" } } });
  session.hear({ type: "exit", exit: { kind: "exited", code: 143 } });
  assertEquals(session.ending(), {
    kind: "renewed",
    changes: { model: "haiku", chosenModel: "claude-haiku-5-5" },
  });
});

Deno.test("a choice is noted for the model in a session that has begun, behind the choice before it", () => {
  const consults = (version: string, turns: 0 | 1) => {
    const { choose, session } = choosing(version, { turns });
    choose("sonnet", inForce("claude-opus", "claude-sonnet", { model: "claude-sonnet" }));
    choose("haiku", inForce("claude-sonnet", "claude-haiku", { model: "claude-haiku" }));
    return session.effects.flatMap((effect) =>
      effect.type === "consult" ? [[effect.request.notes, effect.changes?.model]] : []
    );
  };
  assertEquals(consults("2.1.332", 1), [[true, undefined], [true, "sonnet"]]);
  assertEquals(consults("2.1.332", 0), [[undefined, undefined], [undefined, "sonnet"]]);
});
