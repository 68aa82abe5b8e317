import { assertEquals, assertNotEquals } from "@std/assert";
import fc from "fast-check";
import profile from "../../../../src/claude/versions/2.1.332.json" with { type: "json" };
import type { JsonObject } from "../../../../src/json_object.ts";
import { unansweredRequests } from "../../../../src/conversation/protocol/requests/ask_helper.ts";
import { readCallerLine } from "../../../../src/claude/wire/caller_line.ts";
import { called, returned } from "../../control/lines.ts";
import { caller, CLOSED, consulted, message, request } from "../../control/caller_inputs.ts";
import { EXIT, exit, stop, submit } from "../../control/inputs.ts";
import { rested, type Simulation } from "../../control/simulation.ts";

const SUBTYPES = [
  ...["initialize", "interrupt", "mcp_message", "set_model", "set_permission_mode", "end_session"],
  ...["set_max_thinking_tokens", "mcp_set_servers", "apply_flag_settings", "rewind_files"],
  ...["cancel_async_message", "get_settings", "mcp_status", "mcp_toggle", "mcp_reconnect"],
  ...["get_usage", "update_settings", "stop_task", "toString", "__proto__", ""],
];
const FIELDS = [
  ...["serverName", "enabled", "servers", "settings", "model", "mode", "max_thinking_tokens"],
  ...["source", "skip_behaviors", "user_message_id", "message_uuid", "server_name", "message"],
  ...["hooks", "__proto__"],
];
// No template takes the last one.
const value = fc.oneof(fc.jsonValue(), fc.constant({ toString: {} }));
const anyRequest = fc.record({
  subtype: fc.oneof(fc.constantFrom(...SUBTYPES), fc.string()),
  body: fc.dictionary(fc.constantFrom(...FIELDS), value),
});
const anyAnswer = fc.oneof(
  fc.record({ response: fc.dictionary(fc.constantFrom("mcpServers", "models"), value) }),
  fc.record({ error: fc.string() }),
  fc.record({ failure: fc.string() }),
);

Deno.test("every request is answered once, whatever it holds", () => {
  fc.assert(
    fc.property(
      fc.array(anyRequest, { maxLength: 8 }),
      anyAnswer,
      fc.constantFrom("2.1.285", "2.1.332"),
      (requests, said, version) => {
        const session = rested({ version, caller: caller({ servers: ["own"] }) });
        for (const [number, { subtype, body }] of requests.entries()) {
          session.receive(request(subtype, body, `r${number}`), consulted(`r${number}`, said));
        }
        // Requests after the end of the session need no answer.
        const end = requests.findIndex(({ subtype }) => subtype === "end_session");
        const open = end < 0 ? requests.length : end + 1;
        const { respondedTo: answered } = session;
        assertEquals(answered.slice(0, open), requests.slice(0, open).map((_, n) => `r${n}`));
        assertEquals(new Set(answered).size, answered.length);
      },
    ),
    { numRuns: 60 },
  );
});

Deno.test("requests are answered while a dead child's lines are read", () => {
  const session = rested({ caller: caller() }, message("Hi"), submit("Hi"), stop("Hi!"), exit(1));
  session.receive(request("interrupt"), request("mcp_status"), message("again"));
  assertEquals([session.respondedTo, session.ending], [["interrupt", "mcp_status"], undefined]);
  assertEquals(session.state.queue.length, 1);
});

Deno.test("responses have the ids of their requests, of any type", () => {
  const ids = ["8", 8, 8, 1.5, null, true, { a: 1 }, undefined, undefined, "8"];
  const session = rested();
  const subtypes = ["set_permission_mode", "nonesuch", "get_settings"];
  for (const subtype of subtypes) {
    for (const request_id of ids) {
      const line = JSON.stringify({ type: "control_request", request_id, request: { subtype } });
      const read = readCallerLine(line);
      if (read?.type === "control") session.receive(read);
    }
  }
  session.receive(...session.consulted.map(({ id }) => consulted(id)));
  assertEquals(
    session.of("respond").map(({ response }) => JSON.stringify(response, ["request_id", "a"])),
    subtypes.flatMap(() => ids.map((request_id) => JSON.stringify({ request_id }))),
  );
});

Deno.test("requests that nothing can carry out are refused", () => {
  const unsupported = "claude-print cannot carry out the request";
  const initialize = { agents: { a: {} }, hooks: { Stop: [{ hookCallbackIds: ["h"] }] } };
  const proactivity = "Cannot set proactivity: unrecognized level";
  const levels = "(expected one of ask, default, proactive)";
  const paused = "Invalid set_prompt_suggestions_paused: Invalid input: expected boolean, received";
  const session = rested();
  const rows: readonly [subtype: string, body: JsonObject, error: string | undefined][] = [
    ["set_color", { color: "red" }, "Unsupported control request subtype: set_color"],
    [
      "get_session_cost",
      {},
      `${unsupported} "get_session_cost": get_usage tells the same in numbers`,
    ],
    [
      "initialize",
      initialize,
      'claude-print can honour "hooks" only in an initialize that comes first',
    ],
    ["set_has_subscribers", { has_subscribers: null }, undefined],
    ["set_has_subscribers", { has_subscribers: true }, undefined],
    [
      "set_has_subscribers",
      {},
      "Invalid set_has_subscribers: has_subscribers must be true, false or null",
    ],
    ["set_prompt_suggestions_paused", { paused: true }, undefined],
    ["set_prompt_suggestions_paused", { paused: null }, `${paused} null`],
    ["set_prompt_suggestions_paused", { paused: [] }, `${paused} array`],
    ["set_prompt_suggestions_paused", { paused: 7 }, `${paused} number`],
    ["prompt_draft_activity", {}, undefined],
    ["set_message_waiting", { waiting: false }, undefined],
    ["set_message_waiting", {}, "Invalid set_message_waiting: waiting must be true or false"],
    ["set_proactivity_level", { level: "wild" }, `${proactivity} wild ${levels}`],
    ["set_proactivity_level", { level: [1] }, `${proactivity} [1] ${levels}`],
    [
      "set_proactivity_level",
      { level: "ask" },
      "Cannot set proactivity: levels are not enabled for this session (the host must send " +
      "proactivity: true on initialize, with no kill switch set)",
    ],
    ["get_task_output", { task_id: 7 }, "get_task_output: task_id must be a string"],
    [
      "get_task_output",
      { task_id: "a1b2c3d4" },
      "get_task_output: no shell or Monitor task with that task_id in this session",
    ],
    ["fork_conversation", {}, undefined],
    ["stage_file", {}, "CLAUDE_CODE_REMOTE_SESSION_ID unset"],
    ["set_max_thinking_tokens", { max_thinking_tokens: -1 }, undefined],
  ];
  for (const [subtype, body, error] of rows) {
    session.receive(request(subtype, body));
    const { error: said, subtype: kind } = session.responses.at(-1) ?? {};
    assertEquals([said, kind], [error, error === undefined ? "success" : "error"], subtype);
  }
  assertEquals(session.responses[0]?.["error_code"], "unsupported_request");
  session.receive(request("get_task_output", { task_id: "b1c2d3e4f" }));
  assertEquals(session.consulted.at(-1)?.subtype, "get_task_output");
});

Deno.test("each control request that Claude Code knows is known", () => {
  for (const subtype of profile.controlRequests.split(" ")) {
    const session = rested({ caller: caller() }, request(subtype), consulted(subtype));
    assertEquals(session.respondedTo, [subtype]);
    assertNotEquals(session.responses[0]?.["error_code"], "unsupported_request", subtype);
  }
});

Deno.test("headless helper answers what a child cannot", () => {
  const session = rested();
  const subtypes = ["initialize", "get_settings", "list_models", "read_file"];
  session.receive(...subtypes.map((subtype) => request(subtype)));
  assertEquals(session.consulted.map(({ subtype }) => subtype), subtypes);
  assertEquals(session.responses, []);
  session.receive(
    consulted("list_models", { response: { models: [1] } }),
    consulted("list_models", { response: { models: [2] } }),
    consulted("another's", { response: {} }),
    consulted("get_settings", { failure: "it is gone" }),
    consulted("read_file", { error: "read denied", errorCode: "denied" }),
    consulted("initialize", { failure: "it is gone" }),
  );
  const [initialized, ...others] = session.responses;
  assertEquals(others, [
    { subtype: "success", response: { models: [1] } },
    { subtype: "error", error: "Cannot answer get_settings: it is gone" },
    { subtype: "error", error: "read denied", error_code: "denied" },
  ]);
  // A caller cannot continue without an answer to its initialization.
  assertEquals(Object.keys(initialized?.["response"] ?? {}), [
    ...["commands", "agents", "output_style", "available_output_styles", "models", "account"],
  ]);
});

Deno.test("only get_usage reports the conversation's usage", () => {
  for (const [subtype, used] of [["get_usage", true], ["get_settings", undefined]] as const) {
    const session = rested({}, request(subtype), consulted(subtype));
    assertEquals(session.of("respond").map((effect) => effect.used), [used]);
  }
});

Deno.test("requests are answered before the end", () => {
  const closed = rested({}, request("get_settings"), CLOSED);
  assertEquals(closed.signals, []);
  closed.receive(consulted("get_settings"));
  assertEquals(closed.signals, ["SIGTERM"]);
  const dying = rested({}, request("get_settings"), exit(1));
  const error = "Cannot answer get_settings: Claude Code has ended meanwhile";
  assertEquals(dying.responses, [{ subtype: "error", error }]);
});

Deno.test("next child answers what was asked while this one exits", () => {
  const session = rested({}, request("get_settings"), request("set_model", { model: "m" }));
  session.receive(consulted("set_model", { response: { model: "m" } }), message("one"));
  session.receive(request("mcp_status"), EXIT);
  assertEquals([session.ending?.kind, session.respondedTo], ["renewed", ["set_model"]]);
  const left = unansweredRequests(session.state).map(({ id }) => id);
  assertEquals(left, ["get_settings", "mcp_status"]);
});

Deno.test("requests after an initialization are answered after it", () => {
  const session = rested();
  session.receive(request("initialize"), request("set_permission_mode", { mode: "plan" }));
  session.receive(request("get_settings"), request("nonesuch"), consulted("get_settings"));
  assertEquals([session.respondedTo, session.of("mode").length], [[], 1]);
  session.receive(consulted("initialize"));
  const order = ["initialize", "set_permission_mode", "nonesuch", "get_settings"];
  assertEquals(session.respondedTo, order);
  session.receive(request("interrupt"));
  assertEquals(session.respondedTo, [...order, "interrupt"]);
  const earlier = rested();
  const ids = [["a", "get_settings"], ["b", "initialize"], ["c", "initialize"]] as const;
  earlier.receive(...ids.map(([id, subtype]) => request(subtype, {}, id)));
  for (const [place, [id]] of ids.entries()) {
    earlier.receive(consulted(id));
    assertEquals(earlier.respondedTo, ["a", "b", "c"].slice(0, place + 1));
  }
  const dying = rested({}, request("initialize"), request("nonesuch"), exit(1));
  dying.wait(10_000);
  assertEquals(dying.respondedTo.toSorted(), ["initialize", "nonesuch"]);
});

Deno.test("message waits for the rest of an answered initialization", () => {
  const session = rested({}, request("initialize"), message("one"));
  const seen = () => [session.responses.length, ...session.delivered];
  session.receive(consulted("initialize", { response: {}, isUndescribed: true }));
  assertEquals(seen(), [1]);
  session.receive(consulted("initialize"));
  assertEquals(seen(), [1, "one"]);
});

/** What a later initialization is answered, after one by which the child was started. */
function initializedAgain(again: JsonObject, first: JsonObject = {}, more = {}) {
  const initialized = { id: "1", ...more };
  const session = rested({ caller: caller({ initialized }) });
  for (const [id, body] of [["1", first], ["2", again]] as const) {
    session.receive(request("initialize", body, id), consulted(id));
  }
  return session.responses.map(({ subtype, response }) => response ?? subtype);
}

Deno.test("later initialization can repeat only the first one's hooks", () => {
  const hooks = { Stop: [{ hookCallbackIds: ["a"] }] };
  const first = { hooks, skills: ["s"] };
  const applied = { hooks_applied: true };
  const rows = [
    [first, applied],
    [{ skills: ["s"] }, {}],
    [{ hooks: { Stop: [{ hookCallbackIds: ["b"] }] } }, "error"],
    [{ hooks, skills: ["t"] }, "error"],
  ] as const;
  for (const [again, answer] of rows) {
    assertEquals(initializedAgain(again, first), [applied, answer]);
  }
  assertEquals(initializedAgain({ hooks }, first, { error: "not this" }), ["error", "error"]);
});

Deno.test("initialization reports whether its servers were applied", () => {
  const mcpServers = { s: { command: "x" } };
  assertEquals(initializedAgain({ mcpServers }, { mcpServers }), [
    { mcp_servers_applied: true },
    { mcp_servers_applied: false },
  ]);
  assertEquals(initializedAgain({}, { mcpServers: {} }), [{}, {}]);
});

Deno.test("initialization after others may ask for prompts and agents only", () => {
  const isConsulted = (body: JsonObject) => {
    const session = rested({}, request("initialize", body));
    return session.consulted.length > 0;
  };
  const prompts = { systemPrompt: "x", appendSystemPrompt: ["y"], agents: { a: {} } };
  assertEquals(isConsulted(prompts), true);
  const bodies = [
    { sdkMcpServers: ["a"] },
    { title: "a" },
    { hooks: { Stop: [{ hookCallbackIds: ["h"] }] } },
  ];
  for (const body of bodies) assertEquals(isConsulted(body), false, JSON.stringify(body));
});

Deno.test("title of a session is reported once it is noted", () => {
  const session = rested({}, request("rename_session", { title: " Mine " }, "a"));
  session.receive(request("rename_session", { title: "" }, "b"));
  assertEquals(session.responses, []);
  const error = "title must be non-empty";
  session.receive(consulted("a"), consulted("b", { error }));
  assertEquals(session.responses, [{ subtype: "success" }, { subtype: "error", error }]);
  assertEquals<unknown>(session.of("title"), [{ type: "title", title: "Mine" }]);
});

Deno.test("message that was not delivered can be cancelled, once", () => {
  const session = rested({}, message("one"), message("two", { priority: "later", uuid: "2" }));
  for (const message_uuid of ["2", "2", "another's", 7, undefined]) {
    session.receive(request("cancel_async_message", { message_uuid }));
  }
  assertEquals(session.responses.map(({ response }) => response), [
    { cancelled: true, message_uuid: "2" },
    ...Array(4).fill({ cancelled: false }),
  ]);
  assertEquals(session.of("cancelled").length, 1);
});

Deno.test("end_session drops later messages", () => {
  const session = rested({}, message("one"), request("end_session"), message("three"));
  const { isOpen, isDismissed, queue } = session.state;
  assertEquals([isOpen, isDismissed, queue, session.delivered], [false, true, [], ["one"]]);
});

/** Sends `background_tasks` and returns its response. */
function toBackground(session: Simulation, body: JsonObject = {}) {
  session.receive(request("background_tasks", body));
  const { response, error } = session.responses.at(-1) ?? {};
  return error ?? response;
}

Deno.test("background_tasks presses Ctrl+B for a call that runs alone", () => {
  const session = rested();
  assertEquals(toBackground(session), {});
  const error = "background_tasks: tool_use_id must be a string";
  assertEquals(toBackground(session, { tool_use_id: 5 }), error);
  session.receive(message("one"), submit("one"), called("a"));
  assertEquals(toBackground(session, { tool_use_id: "z" }), { backgrounded: false });
  assertEquals(session.typed, "");
  assertEquals(toBackground(session, { tool_use_id: "a" }), { backgrounded: true });
  assertEquals(session.typed, "\x02");
  session.wait(300);
  assertEquals(session.typed, "\x02\x02", "the first key may have come too early");
  session.receive(returned("a"), called("c"));
  session.wait(5000);
  assertEquals(session.typed, "\x02\x02");
});

Deno.test("background_tasks presses Ctrl+B for several calls a bounded time", () => {
  const session = rested({}, message("one"), submit("one"), called("a", "b"));
  assertEquals(
    toBackground(session, { tool_use_id: "a" }),
    'claude-print can put only all calls into the background at once, and more than "a" are at work',
  );
  assertEquals(toBackground(session), {});
  session.wait(60_000);
  assertEquals(session.typed, "\x02".repeat(20));
});
