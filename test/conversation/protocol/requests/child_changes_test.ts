import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../../../src/json_object.ts";
import type { HelperReply } from "../../../../src/conversation/control/input.ts";
import { untakenMessages } from "../../../../src/conversation/control/taken_prompts.ts";
import { caller, consulted, message, request } from "../../control/caller_inputs.ts";
import { COST, EXIT, IDLE, REACHABLE, stop, submit, turn } from "../../control/inputs.ts";
import { rested, run, type Simulation, working } from "../../control/simulation.ts";

const success = (response: JsonObject) => ({ subtype: "success", response });

/** A conversation that rests after its first turn. */
function afterTurn(): Simulation {
  const session = working({}, stop(), IDLE);
  session.wait(60_000);
  return session;
}

Deno.test("changes start another child for the next message", () => {
  const session = rested();
  session.receive(
    message("one"),
    request("set_model", { model: "m" }),
    consulted("set_model", { failure: "it is gone" }),
    request("set_permission_mode", { mode: "plan" }),
    request("set_max_thinking_tokens", { max_thinking_tokens: null }),
    message("two"),
    ...turn("one"),
    IDLE,
  );
  assertEquals(session.signals, []);
  session.receive(COST);
  assertEquals([session.delivered, session.turns], [["one"], ["answered"]]);
  assertEquals(session.signals, ["SIGTERM"]);
  session.receive(EXIT);
  const changes = { model: "m", permissionMode: "plan", maxThinkingTokens: null };
  assertEquals(session.ending, { kind: "renewed", changes });
  assertEquals(untakenMessages(session.state).map(({ text }) => text), ["two"]);
});

Deno.test("early changes start another child after 200 ms", () => {
  const options = { conversation: true, caller: caller({ permissionMode: "default" }) } as const;
  const choose = (mode: string) => request("set_permission_mode", { mode });
  const session = run(options, choose("default"), REACHABLE, IDLE);
  session.wait(1e9);
  assertEquals(session.ending, undefined, "it is the child's own mode");
  session.receive(choose("plan"), choose("acceptEdits"));
  session.wait(199);
  assertEquals(session.state.ending, undefined);
  session.wait(1);
  const changes = { permissionMode: "acceptEdits" };
  assertEquals(session.state.ending, { kind: "renewed", changes });
  const begun = run(options, REACHABLE, IDLE, message("one"), ...turn("one"), IDLE, COST);
  begun.receive(choose("default"));
  begun.wait(1000);
  assertEquals([begun.state.ending, begun.state.phase], [undefined, "resting"]);
  begun.receive(message("two"));
  assertEquals(begun.state.ending?.kind, "renewed");
});

Deno.test("valid changes are noted", () => {
  const rows = [
    ["set_permission_mode", { mode: "manual" }, { permissionMode: "default" }],
    ["set_max_thinking_tokens", { max_thinking_tokens: -1 }, { maxThinkingTokens: -1 }],
    ["set_max_thinking_tokens", { max_thinking_tokens: 7 }, { maxThinkingTokens: 7 }],
    ["set_max_thinking_tokens", { thinking_display: "omitted" }, { thinkingDisplay: "omitted" }],
    [
      "set_max_thinking_tokens",
      { max_thinking_tokens: null, thinking_display: null },
      { maxThinkingTokens: null, thinkingDisplay: null },
    ],
  ] as const;
  for (const [subtype, body, changes] of rows) {
    const session = rested({}, request(subtype, body));
    assertEquals(session.responses.map(({ subtype }) => subtype), ["success"]);
    assertEquals<unknown>(session.state.changes, changes);
  }
  const bypassing = rested({ caller: caller({ mayBypass: true }) });
  bypassing.receive(request("set_permission_mode", { mode: "bypassPermissions" }));
  assertEquals(bypassing.state.changes, { permissionMode: "bypassPermissions" });
});

Deno.test("invalid changes are refused", () => {
  const session = rested();
  const rows = [
    ["set_model", { model: 7 }],
    ["set_model", { model: {} }],
    ["set_model", { model: "m".repeat(20_000) }],
    ["set_permission_mode", { mode: "wild" }],
    ["set_permission_mode", {}],
    ["set_permission_mode", { mode: "bypassPermissions" }],
    ["set_max_thinking_tokens", { max_thinking_tokens: 1.5 }],
    ["set_max_thinking_tokens", { max_thinking_tokens: "many" }],
    ["set_max_thinking_tokens", { thinking_display: "wild" }],
    ["apply_flag_settings", { settings: [] }],
    ["apply_flag_settings", { settings: 7 }],
    ["apply_flag_settings", { settings: null }],
    ["apply_flag_settings", { settings: { disableAllHooks: true } }],
    ["apply_flag_settings", { settings: { permissions: { defaultMode: "wild" } } }],
    ["apply_flag_settings", { settings: { env: { A: "x".repeat(500_000) } } }],
    ["update_settings", { source: "userSettings", settings: { effortLevel: "high" } }],
  ] as const;
  for (const [subtype, body] of rows) {
    session.receive(request(subtype, body));
    assertEquals(session.responses.at(-1)?.["subtype"], "error", subtype);
  }
  assertEquals([session.responses.length, session.consulted], [rows.length, []]);
  session.receive(message("one"));
  assertEquals([session.delivered, session.state.changes], [["one"], undefined]);
});

Deno.test("model is refused where a PreModelSwitch hook would not run", () => {
  const session = rested({ caller: caller({ watchesModels: true }) });
  session.receive(request("set_model", { model: "m" }));
  const errors = session.responses.map(({ error }) => `${error}`.split(":")[0]);
  assertEquals([errors, session.state.changes], [["Cannot set the model"], undefined]);
});

Deno.test("flag settings are merged for the next child", () => {
  const session = rested();
  const apply = (settings: unknown) => request("apply_flag_settings", { settings });
  session.receive(apply({ model: "m", env: { A: "1" } }), apply({ env: null }));
  assertEquals(session.responses.map(({ subtype }) => subtype), ["success", "success"]);
  const flagSettings = { model: "m", env: null };
  assertEquals(session.state.changes, { model: "m", flagSettings });
});

Deno.test("flag settings with faults are refused as a whole", () => {
  const session = rested();
  const faulty = [
    { permissions: null, model: null },
    { model: 5, permissions: { allow: "Bash" }, env: { A: "1" } },
    { hooks: { PreToolUse: 3 } },
    { hooks: { Stop: 3 } },
  ];
  for (const settings of faulty) session.receive(request("apply_flag_settings", { settings }));
  const keys = session.responses.map(({ error = "" }) => `${error}`.split("of: ")[1]);
  assertEquals(keys, [undefined, "permissions, model", "hooks", undefined]);
  assertEquals(session.state.changes?.flagSettings?.["env"], undefined);
});

Deno.test("headless helper updates the project's settings", () => {
  const body = { source: "localSettings", settings: { outputStyle: "mine" } };
  const asked = (said: HelperReply) => {
    const session = rested();
    session.receive(request("update_settings", body), consulted("update_settings", said));
    return [...session.responses, session.state.changes];
  };
  assertEquals(asked({ response: {} }), [success({}), {}]);
  assertEquals(asked({ error: "no" }), [{ subtype: "error", error: "no" }, undefined]);
});

/** Chooses a model; returns the models and responses that are emitted then. */
function choose(session: Simulation, model: unknown, said: HelperReply) {
  const { length } = session.effects;
  const body = model === undefined ? {} : { model };
  session.receive(request("set_model", body), consulted("set_model", said));
  return session.effects.slice(length).flatMap((effect): readonly unknown[] => {
    if (effect.type === "model") return [effect.model];
    if (effect.type !== "respond") return [];
    const { request_id: _, ...response } = effect.response;
    return [response];
  });
}

/** What a headless helper says of a choice. */
const inForce = (before: string, after: string, response = {}): HelperReply => ({
  response: { ...response, before: { model: before }, after: { model: after } },
});

Deno.test("chosen model is reported by its full name", () => {
  const OPUS = "claude-opus-5-5";
  const HAIKU = "claude-haiku-5-5";
  const SONNET = "claude-sonnet-5-5";
  // The helper reports what is in force afterwards before it makes the choice.
  const said = (model: string) => inForce(OPUS, OPUS, { model });
  const session = afterTurn();
  const rows = [
    [undefined, OPUS, []],
    [" sonnet ", SONNET, ["sonnet (claude-sonnet-5-5)"]],
    ["opusplan", SONNET, []],
    [HAIKU, HAIKU, [HAIKU]],
    ["default", OPUS, [OPUS]],
  ] as const;
  for (const [chosen, model, reported] of rows) {
    assertEquals(choose(session, chosen, said(model)), [...reported, success({ model })]);
  }
  assertEquals(session.state.changes, { model: null, chosenModel: OPUS });
  assertEquals(choose(rested(), "haiku", said(HAIKU)), [success({ model: HAIKU })]);
  assertEquals(choose(working(), HAIKU, said(HAIKU)), [HAIKU, success({ model: HAIKU })]);
});

Deno.test("get_settings reports the chosen model", () => {
  const session = afterTurn();
  const asked = (response: JsonObject) => {
    session.receive(request("get_settings"), consulted("get_settings", { response }));
    return session.responses.at(-1)?.["response"];
  };
  const settings = { sources: [], applied: { model: "claude-opus-5-5", effort: "high" } };
  assertEquals(asked(settings), settings);
  const model = "claude-sonnet-5-5";
  choose(session, "sonnet", inForce("claude-opus-5-5", "claude-opus-5-5", { model }));
  assertEquals(asked(settings), { ...settings, applied: { model, effort: "high" } });
  assertEquals(asked({ applied: null }), { applied: null });
});

Deno.test("unknown model is refused in Claude Code's words", () => {
  const session = afterTurn();
  const [error, model] = ["unrecognized", "claude-opus-5-5"];
  assertEquals(choose(session, "", { error, errorCode: "catalog_unknown", model }), [
    { subtype: "error", error, error_code: "catalog_unknown", model },
  ]);
  assertEquals(session.state.changes, undefined);
});

Deno.test("model without a helper's answer keeps its short name", () => {
  const session = afterTurn();
  const response = success({ model: "haiku" });
  assertEquals(choose(session, "haiku", { failure: "it is gone" }), ["haiku", response]);
  assertEquals(session.state.changes, { model: "haiku" });
});

Deno.test("message after a choice goes to a new child", () => {
  const session = afterTurn();
  session.receive(request("set_model", { model: "haiku" }), message("hello"));
  assertEquals([session.delivered, session.signals], [["go"], []]);
  session.receive(consulted("set_model", { response: { model: "claude-haiku-5-5" } }), EXIT);
  const changes = { model: "haiku", chosenModel: "claude-haiku-5-5" };
  assertEquals(session.ending, { kind: "renewed", changes });
});

Deno.test("helper notes a choice in a session that has begun", () => {
  const consults = (session: Simulation) => {
    choose(session, "sonnet", inForce("claude-opus", "claude-sonnet", { model: "claude-sonnet" }));
    choose(session, "haiku", inForce("claude-sonnet", "claude-haiku", { model: "claude-haiku" }));
    return session.of("consult").map(({ request, changes }) => [request.notes, changes?.model]);
  };
  assertEquals(consults(afterTurn()), [[true, undefined], [true, "sonnet"]]);
  assertEquals(consults(rested()), [[undefined, undefined], [undefined, "sonnet"]]);
});

const local = (path: string) => ({ type: "local", path });
const reload = (id: string, body: JsonObject) => request("reload_plugins", body, id);
const withOwnServer = () => rested({ caller: caller({ servers: ["own"] }) });

Deno.test("reload_plugins adds plugins for the helper and the next child", () => {
  const session = withOwnServer();
  const body = { add_plugins: [local("/p")], hold_on_cache_impact: true };
  const args = ["--plugin-dir=/p"];
  session.receive(reload("1", body));
  assertEquals<unknown>(session.consulted, [
    { id: "1", subtype: "reload_plugins", body: { hold_on_cache_impact: true }, args },
  ]);
  const mcpServers = [{ name: "s", status: "connected" }];
  session.receive(consulted("1", { response: { plugins: [], mcpServers } }));
  assertEquals(session.state.changes?.plugins, args);
  const { mcpServers: listed } = session.responses[0]?.["response"] as JsonObject;
  assertEquals((listed as readonly JsonObject[]).map(({ name }) => name), ["s", "own"]);
  session.receive(reload("3", { add_plugins: null }));
  assertEquals([session.consulted.length, session.responses.length], [2, 1]);
  const skipped = { ...local("/q"), skipMcpDiscovery: true };
  session.receive(reload("2", { add_plugins: [skipped, local("/p")] }), consulted("2"));
  assertEquals(session.state.changes?.plugins, [...args, "--plugin-dir-no-mcp=/q"]);
});

Deno.test("reload_plugins reports commands", () => {
  const session = withOwnServer();
  const commands = [{ name: "c" }];
  session.receive(reload("1", {}), consulted("1", { response: { commands } }));
  assertEquals<unknown>(session.of("commands"), [{ type: "commands", commands }]);
});

Deno.test("reload_plugins refuses plugins without an absolute path", () => {
  const session = withOwnServer();
  for (const add_plugins of [7, [7], [local("p")], [{ type: "url" }]]) {
    session.receive(reload("1", { add_plugins }));
  }
  assertEquals(session.responses.map(({ subtype }) => subtype), Array(4).fill("error"));
});

Deno.test("reload_plugins refuses during a turn if the caller wants that", () => {
  const session = withOwnServer();
  session.receive(reload("idle", { refuse_if_busy: true }));
  assertEquals(session.consulted.length, 1);
  session.receive(message("go"), submit("go"), reload("busy", { refuse_if_busy: true }));
  assertEquals(session.responses.at(-1)?.["error_code"], "reload_plugins_busy");
  session.receive(reload("again", {}));
  assertEquals(session.consulted.length, 2);
});
