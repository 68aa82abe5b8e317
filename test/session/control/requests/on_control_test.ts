import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { readCallerLine } from "../../../../src/wire/caller_line.ts";
import { simulate } from "../../simulation.ts";

const SUBTYPES = [
  ...["initialize", "interrupt", "mcp_message", "set_model", "set_permission_mode", "end_session"],
  ...["set_max_thinking_tokens", "mcp_set_servers", "apply_flag_settings", "rewind_files"],
  ...["cancel_async_message", "get_settings", "mcp_status", "mcp_toggle", "mcp_reconnect"],
  ...["get_usage", "update_settings", "stop_task", "toString", "__proto__", ""],
];

const FIELDS = [
  ...["serverName", "enabled", "servers", "settings", "model", "mode", "max_thinking_tokens"],
  ...[
    "source",
    "skip_behaviors",
    "user_message_id",
    "message_uuid",
    "server_name",
    "message",
    "hooks",
    "__proto__",
  ],
];

// The last one no template takes.
const value = fc.oneof(fc.jsonValue(), fc.constant({ toString: {} }));
const asked = fc.record({
  subtype: fc.oneof(fc.constantFrom(...SUBTYPES), fc.string()),
  body: fc.dictionary(fc.constantFrom(...FIELDS), value),
});

const said = fc.oneof(
  fc.record({
    response: fc.dictionary(fc.constantFrom("mcpServers", "models"), value),
  }),
  fc.record({ error: fc.string() }),
  fc.record({ failure: fc.string() }),
);

Deno.test("whatever a request holds, it is answered once", () => {
  fc.assert(
    fc.property(
      fc.array(asked, { maxLength: 8 }),
      said,
      fc.boolean(),
      (requests, answer, isNew) => {
        const session = simulate({
          conversation: true,
          version: isNew ? "2.1.332" : "2.1.285",
          caller: { idPrefix: "q", callbacks: [], servers: ["own"] },
        });
        session.hear({ type: "reachable" });
        session.hear({ type: "status", status: "idle" });
        for (const [number, { subtype, body }] of requests.entries()) {
          const id = `r${number}`;
          session.hear({ type: "control", request: { id, subtype, body } });
          session.hear({ type: "consulted", id, said: answer });
        }
        const answered = session.effects.flatMap((effect) =>
          effect.type === "respond" ? [effect.response.request_id] : []
        );
        // Whoever has ended the session hears nothing of what is asked afterwards.
        const end = requests.findIndex(({ subtype }) => subtype === "end_session");
        const open = end < 0 ? requests.length : end + 1;
        assertEquals(answered.slice(0, open), requests.slice(0, open).map((_, n) => `r${n}`));
        assertEquals(new Set(answered).size, answered.length);
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("requests are answered by the ids that they have, whatever those are and whoever else has them", () => {
  const ids = ["8", 8, 8, 1.5, null, true, { a: 1 }, undefined, undefined, "8"];
  const session = simulate({ conversation: true, version: "2.1.332" });
  session.hear({ type: "reachable" });
  for (const subtype of ["set_permission_mode", "nonesuch", "get_settings"]) {
    for (const request_id of ids) {
      const read = readCallerLine(
        JSON.stringify({ type: "control_request", request_id, request: { subtype } }),
      );
      if (read?.type === "control") session.hear(read);
    }
  }
  for (const effect of session.effects) {
    if (effect.type === "consult") {
      session.hear({ type: "consulted", id: effect.request.id, said: { response: {} } });
    }
  }
  const answers = session.effects.flatMap((effect) =>
    effect.type === "respond" ? [JSON.stringify(effect.response, ["request_id", "a"])] : []
  );
  const expected = ids.map((request_id) => JSON.stringify({ request_id }));
  assertEquals(answers, [...expected, ...expected, ...expected]);
});

Deno.test("what the first initialization has asked for may be asked for again, and nothing else", () => {
  const hooks = { Stop: [{ hookCallbackIds: ["a"] }] };
  const answersTo = (again: Readonly<Record<string, unknown>>, error?: string) => {
    const caller = {
      idPrefix: "q",
      callbacks: [],
      initialized: { id: "1", ...(error === undefined ? {} : { error }) },
    };
    const session = simulate({ conversation: true, version: "2.1.332", caller });
    session.hear({ type: "reachable" });
    for (const [id, body] of [["1", { hooks, skills: ["s"] }], ["2", again]] as const) {
      session.hear({ type: "control", request: { id, subtype: "initialize", body } });
      session.hear({ type: "consulted", id, said: { response: {} } });
    }
    return session.effects.flatMap((effect) =>
      effect.type === "respond"
        ? [[effect.response.subtype, "response" in effect.response && effect.response.response]]
        : []
    );
  };
  const applied = ["success" as const, { hooks_applied: true }];
  assertEquals(answersTo({ hooks, skills: ["s"] }), [applied, applied]);
  assertEquals(answersTo({ skills: ["s"] }), [applied, ["success", {}]]);
  assertEquals(answersTo({ hooks: { Stop: [{ hookCallbackIds: ["b"] }] } }).at(-1)?.[0], "error");
  assertEquals(answersTo({ hooks, skills: ["t"] }).at(-1)?.[0], "error");
  assertEquals(answersTo({ hooks }, "not this").map(([subtype]) => subtype), ["error", "error"]);
});

Deno.test("what is asked behind an initialization is done at once, and answered behind it", () => {
  const session = simulate({ conversation: true, version: "2.1.332" });
  session.hear({ type: "reachable" });
  const ask = (id: string, body: Readonly<Record<string, unknown>> = {}) =>
    session.hear({ type: "control", request: { id, subtype: id, body } });
  const answered = () =>
    session.effects.flatMap((effect) =>
      effect.type === "respond" ? [effect.response.request_id] : []
    );
  const isSet = () => session.effects.some(({ type }) => type === "mode");
  ask("initialize");
  ask("set_permission_mode", { mode: "plan" });
  ask("get_settings");
  ask("nonesuch");
  session.hear({ type: "consulted", id: "get_settings", said: { response: {} } });
  assertEquals([answered(), isSet()], [[], true]);
  session.hear({ type: "consulted", id: "initialize", said: { response: {} } });
  const order = ["initialize", "set_permission_mode", "nonesuch", "get_settings"];
  assertEquals(answered(), order);
  ask("interrupt");
  assertEquals(answered(), [...order, "interrupt"]);
});

Deno.test("what is asked before an initialization, and that before another one, do not wait for it", () => {
  const session = simulate({ conversation: true, version: "2.1.332" });
  session.hear({ type: "reachable" });
  for (const [id, subtype] of [["a", "get_settings"], ["b", "initialize"], ["c", "initialize"]]) {
    session.hear({ type: "control", request: { id: id ?? "", subtype: subtype ?? "", body: {} } });
  }
  const answered = () =>
    session.effects.flatMap((effect) =>
      effect.type === "respond" ? [effect.response.request_id] : []
    );
  const asked = ["a", "b", "c"];
  for (const [place, id] of asked.entries()) {
    session.hear({ type: "consulted", id, said: { response: {} } });
    assertEquals(answered(), asked.slice(0, place + 1));
  }
});

Deno.test("what is asked behind an initialization is answered where the child ends before that", () => {
  const session = simulate({ conversation: true, version: "2.1.332" });
  session.hear({ type: "reachable" });
  session.hear({ type: "control", request: { id: "i", subtype: "initialize", body: {} } });
  session.hear({ type: "control", request: { id: "x", subtype: "nonesuch", body: {} } });
  session.hear({ type: "exit", exit: { kind: "exited", code: 1 } });
  session.hear({ type: "deadline", name: "record" });
  const answered = session.effects.flatMap((effect) =>
    effect.type === "respond" ? [effect.response.request_id] : []
  );
  assertEquals(answered.toSorted(), ["i", "x"]);
});
