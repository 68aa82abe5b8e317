import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../../../src/json_object.ts";
import { simulate } from "../../simulation.ts";

function conversation(version = "2.1.332") {
  const session = simulate({
    conversation: true,
    version,
    caller: { idPrefix: "q", callbacks: [], servers: ["own"] },
  });
  session.hear({ type: "reachable" });
  session.hear({ type: "status", status: "idle" });
  const ask = (id: string, body: JsonObject = {}, subtype = "reload_plugins") =>
    session.hear({ type: "control", request: { id, subtype, body } });
  const asked = () =>
    session.effects.flatMap((effect) => effect.type === "consult" ? [effect.request] : []);
  const responses = () =>
    session.effects.flatMap((effect) => effect.type === "respond" ? [effect.response] : []);
  return { session, ask, asked, responses };
}

const local = (path: string) => ({ type: "local", path });

Deno.test("plugins are read again by who answers next, with those that are added", () => {
  const { session, ask, asked, responses } = conversation();
  ask("1", { add_plugins: [local("/p")], hold_on_cache_impact: true });
  const args = ["--plugin-dir=/p"];
  assertEquals(asked(), [
    { id: "1", subtype: "reload_plugins", body: { hold_on_cache_impact: true }, args },
  ]);
  const said = { response: { plugins: [], mcpServers: [{ name: "s", status: "connected" }] } };
  session.hear({ type: "consulted", id: "1", said });
  assertEquals(session.state().changes?.plugins, args);
  const names = (responses().at(-1) as { readonly response: JsonObject }).response["mcpServers"];
  assertEquals((names as readonly JsonObject[]).map(({ name }) => name), ["s", "own"]);
  // As for claude -p, null is none.
  ask("3", { add_plugins: null });
  assertEquals([asked().length, responses().length], [2, 1]);
  ask("2", { add_plugins: [{ ...local("/q"), skipMcpDiscovery: true }, local("/p")] });
  session.hear({ type: "consulted", id: "2", said: { response: {} } });
  assertEquals(session.state().changes?.plugins, [...args, "--plugin-dir-no-mcp=/q"]);
});

Deno.test("commands that were read again are told", () => {
  const commands = [{ name: "c" }];
  const { session, ask } = conversation();
  ask("1");
  session.hear({ type: "consulted", id: "1", said: { response: { commands } } });
  const told = session.effects.filter(({ type }) => type === "commands");
  assertEquals(told, [{ type: "commands", commands }]);
});

Deno.test("plugins that are nowhere are not added, and who asks to wait is told of a turn", () => {
  const { session, ask, asked, responses } = conversation();
  for (const [number, add_plugins] of [7, [7], [local("p")], [{ type: "url" }]].entries()) {
    ask(`${number}`, { add_plugins });
  }
  assertEquals(responses().map(({ subtype }) => subtype), Array(4).fill("error"));
  ask("idle", { refuse_if_busy: true });
  assertEquals(asked().length, 1);
  session.hear({ type: "message", message: { text: "go", way: "rendezvous" } as never });
  session.hear({ type: "hook", event: "UserPromptSubmit", payload: { prompt: "go" } });
  ask("busy", { refuse_if_busy: true });
  assertEquals(
    responses().map((response) => "error_code" in response && response.error_code).at(-1),
    "reload_plugins_busy",
  );
  ask("busy too");
  assertEquals(asked().length, 2);
});

Deno.test("thinking is limited and told of from the next message on, each by itself", () => {
  const { session, ask, responses } = conversation();
  const set = (body: JsonObject) => ask("t", body, "set_max_thinking_tokens");
  set({ max_thinking_tokens: 7 });
  set({ thinking_display: "omitted" });
  assertEquals(session.state().changes, { maxThinkingTokens: 7, thinkingDisplay: "omitted" });
  set({ max_thinking_tokens: null, thinking_display: null });
  assertEquals(session.state().changes, { maxThinkingTokens: null, thinkingDisplay: null });
  set({ thinking_display: "wild" });
  set({ max_thinking_tokens: 1.5 });
  assertEquals(responses().map(({ subtype }) => subtype).slice(-3), ["success", "error", "error"]);
});

Deno.test("what changes nothing is answered as by claude -p, if it is what it should be", () => {
  const { ask, responses } = conversation();
  ask("1", { has_subscribers: null }, "set_has_subscribers");
  ask("2", { paused: true }, "set_prompt_suggestions_paused");
  ask("3", {}, "prompt_draft_activity");
  ask("4", {}, "set_has_subscribers");
  ask("5", { paused: 7 }, "set_prompt_suggestions_paused");
  assertEquals(responses().map(({ subtype }) => subtype), [
    ...["success", "success", "success", "error", "error"],
  ]);
});
