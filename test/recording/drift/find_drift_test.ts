import { assertEquals } from "@std/assert";
import { checkFrame, RecordingExaminer } from "../../../src/recording/drift/find_drift.ts";
import type { Drift } from "../../../src/recording/drift/findings.ts";
import { readKnown } from "../../../src/recording/drift/known_shapes.ts";
import {
  createDeclarationCheck,
  literalsIn,
  readDeclarations,
} from "../../../src/recording/drift/typescript_sdk.ts";
import type { JsonObject } from "../../../src/json_object.ts";

const KNOWN = readKnown({
  version: "2.1.332",
  probes: ["CSI c"],
  shapes: {
    "block text": "text type",
    "event content_block_delta/text_delta": "",
    "frame assistant": "error? message session_id type",
    "frame stream_event": "event session_id type",
    "frame system/init": "cwd! session_id subtype type",
    "hook Stop": "session_id",
    "line attachment/skill_listing": "attachment type",
    "line user": "message type uuid?",
    "part attachment/skill_listing": "type",
    "part message of assistant": "content id model",
    "part message of user": "content role?",
    "status idle": "",
  },
});

const examiner = (version = "2.1.332"): RecordingExaminer =>
  new RecordingExaminer({ known: KNOWN, version });
const words = (found: readonly Drift[]) =>
  found.map(({ check, where, what }) => `${check} | ${where} | ${what}`);
const input = (value: unknown, at = 0) => ({ at, code: "h", data: JSON.stringify(value) });
const output = (data: string) => ({ at: 0, code: "o", data });

const INIT = { type: "system", subtype: "init", session_id: "s", cwd: "/" };
const ANSWER = {
  type: "assistant",
  session_id: "s",
  message: { id: "m", model: "x", content: [{ type: "text", text: "hi" }] },
};

const POEM = { type: "poem" };

Deno.test("unknown types and fields of a frame are found", () => {
  const { frame } = examiner();
  const cases: readonly (readonly [JsonObject, readonly string[]])[] = [
    [INIT, []],
    [ANSWER, []],
    [{ type: "news", a: 1 }, ["type unknown | frame | news"]],
    [{ ...INIT, subtype: "fresh" }, ["type unknown | frame | system/fresh"]],
    // This program prints the field, though no recording has it.
    [{ ...INIT, sandbox_enabled: false }, []],
    [{ ...INIT, mood: "good" }, ["field new | frame system/init | mood"]],
    [{ type: "system", subtype: "init", session_id: "s" }, [
      "field gone | frame system/init | cwd",
    ]],
    [{ ...ANSWER, error: "rate_limit" }, []],
    [{ ...ANSWER, message: { ...ANSWER.message, content: [POEM] } }, [
      "block dropped | block | poem",
    ]],
    [{ ...ANSWER, message: { ...ANSWER.message, content: [{ type: "text", content: [POEM] }] } }, [
      "field new | block text | content",
      "field gone | block text | text",
      "block dropped | block | poem",
    ]],
    [{ ...ANSWER, message: { ...ANSWER.message, content: "text" } }, [
      "frame rejected | frame assistant | message.content: …",
    ]],
    [{ ...ANSWER, message: null }, ["frame rejected | frame assistant | message: …"]],
    [{
      type: "stream_event",
      session_id: "s",
      event: { type: "content_block_delta", delta: { type: "text_delta" } },
    }, []],
    [{
      type: "stream_event",
      session_id: "s",
      event: { type: "content_block_delta", delta: { type: "smell_delta" } },
    }, [
      "type unknown | event | content_block_delta/smell_delta",
    ]],
  ];
  for (const [value, expected] of cases) {
    const found = words(frame(value)).map((text) => text.replace(/(?<=: )Invalid input.*/u, "…"));
    assertEquals(found, expected);
  }
});

Deno.test("a frame with a field of another type is rejected", () => {
  const session_id = "s";
  const parent_tool_use_id = null;
  /** A valid frame, and its fields that cannot be a number, or a text. */
  const rows: readonly (readonly [frame: JsonObject, noNumber: string, noText?: string])[] = [
    [INIT, "subtype session_id"],
    [{ ...ANSWER, parent_tool_use_id }, "message parent_tool_use_id session_id"],
    [
      { type: "user", message: { content: [{ type: "x" }] }, parent_tool_use_id },
      "parent_tool_use_id",
    ],
    [
      {
        type: "result",
        subtype: "success",
        session_id,
        is_error: false,
        num_turns: 1,
        result: "",
        errors: [],
        total_cost_usd: 0,
        usage: {},
        modelUsage: { m: {} },
        permission_denials: [],
      },
      "subtype session_id is_error result errors usage modelUsage permission_denials",
      "num_turns total_cost_usd",
    ],
    [
      { type: "stream_event", event: { type: "x" }, parent_tool_use_id, session_id },
      "event parent_tool_use_id session_id",
    ],
    [{ type: "rate_limit_event", rate_limit_info: {}, session_id }, "rate_limit_info session_id"],
    [{ type: "control_response", response: { subtype: "success" } }, "response"],
    [{ type: "control_response", response: { subtype: "error", error: "" } }, "response"],
    [
      { type: "control_request", request_id: "1", request: { subtype: "x" } },
      "request_id request",
    ],
    [{ type: "control_cancel_request", request_id: "1" }, "request_id"],
    [{ type: "command_lifecycle", command_uuid: "1", state: "" }, "command_uuid state"],
    [{ type: "transcript_mirror", filePath: "/", entries: [{}] }, "filePath entries"],
    [{ type: "future", session_id: 1 }, ""],
  ];
  for (const [frame, noNumber, noText = ""] of rows) {
    assertEquals(checkFrame(frame), []);
    for (const [names, value] of [[noNumber, 5], [noText, "5"]] as const) {
      for (const name of names.split(" ").filter((name) => name !== "")) {
        const [{ check, what } = { check: "", what: "" }] = checkFrame({
          ...frame,
          [name]: value,
        });
        assertEquals([check, what.split(/[.:]/u)[0]], ["frame rejected", name], `${frame["type"]}`);
      }
    }
  }
});

Deno.test("required fields depend on the version", () => {
  const old = { type: "system", subtype: "init", session_id: "s" };
  assertEquals(examiner("2.1.300").frame(old), []);
  assertEquals(words(examiner("99.0.0").frame(old)), ["field gone | frame system/init | cwd"]);
  const learning = new RecordingExaminer({ known: KNOWN });
  assertEquals(learning.version(), undefined);
  learning.frame({ ...old, claude_code_version: "2.1.300" });
  learning.frame({ ...old, claude_code_version: "9.9.9" });
  assertEquals(learning.version(), "2.1.300");
  const { event, version } = new RecordingExaminer({ known: KNOWN });
  event(input({ type: "transcript", line: { type: "user", version: "2.1.332" } }));
  assertEquals(version(), "2.1.332");
});

Deno.test("names of Object.prototype are ordinary names", () => {
  const { frame } = examiner();
  assertEquals(words(frame(JSON.parse('{"type":"__proto__"}'))), [
    "type unknown | frame | __proto__",
  ]);
  assertEquals(words(frame({ type: "constructor" })), ["type unknown | frame | constructor"]);
  assertEquals(words(frame(JSON.parse(`{"__proto__":1,${JSON.stringify(INIT).slice(1)}`))), [
    "field new | frame system/init | __proto__",
  ]);
});

Deno.test("unknown events of hooks on a tape are found", () => {
  const known = readKnown({
    version: "2.1.332",
    probes: [],
    shapes: {
      "frame system/hook_started": "",
      "frame control_request/hook_callback": "",
      "hook Stop": "hook_event_name session_id",
    },
  });
  const { frame } = new RecordingExaminer({ known });
  const started = (hook_event: string) =>
    words(frame({ type: "system", subtype: "hook_started", session_id: "s", hook_event }));
  assertEquals(started("Stop"), []);
  assertEquals(started("Tea"), ["hook event new | hook | Tea"]);
  const called = (input: JsonObject) =>
    words(frame({
      type: "control_request",
      request_id: "1",
      request: { subtype: "hook_callback", callback_id: "1", input },
    }));
  assertEquals(called({ hook_event_name: "Stop", session_id: "s" }), []);
  assertEquals(called({ hook_event_name: "Stop" }), ["field gone | hook Stop | session_id"]);
  assertEquals(called({ hook_event_name: "Tea" }), ["hook event new | hook | Tea"]);
});

Deno.test("a control request without a request is rejected", () => {
  const [found] = words(examiner().frame({ type: "control_request", request_id: "1" }))
    .filter((text) => text.startsWith("frame rejected"));
  assertEquals(found?.includes("request: "), true);
});

Deno.test("unknown parts of a cast are found", () => {
  const { event } = examiner();
  const look = (value: unknown) => words(event(input(value)));
  assertEquals(look({ type: "hook", event: "Stop", payload: { session_id: "s" } }), []);
  assertEquals(look({ type: "hook", event: "Teatime", payload: {} }), [
    "hook event new | hook | Teatime",
  ]);
  assertEquals(look({ type: "hook", event: "Stop", payload: { sugar: 1 } }), [
    "field new | hook Stop | sugar",
    "field gone | hook Stop | session_id",
  ]);
  assertEquals(
    look({ type: "transcript", line: { type: "user", message: { content: "hi" } } }),
    [],
  );
  assertEquals(look({ type: "transcript", line: { type: "diary" } }), [
    "type unknown | line | diary",
  ]);
  assertEquals(look({ type: "earlier", lines: [{ type: "diary" }] }), [
    "type unknown | line | diary",
  ]);
  for (const type of ["user", "assistant", "system", "attachment"]) {
    assertEquals(
      look({ type: "subagent", line: { type, uuid: 1 } })[0],
      `frame rejected | line ${type} | it does not look as such a line has to`,
    );
  }
  const attached = { type: "attachment", attachment: { type: "skill_listing", names: [] } };
  assertEquals(look({ type: "transcript", line: { ...attached, uuid: "u" } }), []);
  assertEquals(look({ type: "transcript", line: { ...attached, mood: "good" } }), [
    "field new | line attachment/skill_listing | mood",
  ]);
  assertEquals(look({ type: "status", status: "idle" }), []);
  assertEquals(look({ type: "status", status: "bored" }), ["type unknown | status | bored"]);
  assertEquals(look({ type: "stream", part: { kind: "event", event: { type: "sigh" } } }), [
    "type unknown | event | sigh",
  ]);
  assertEquals(event({ at: 0, code: "h", data: "[".repeat(10_000) }), []);
  assertEquals(event({ at: 0, code: "h", data: "{" }), []);
});

Deno.test("an unknown terminal query is found wherever it is cut", () => {
  const text =
    "\x1b[c words \x1b[?2026$p\x1b[>0q\x1b]11;?\x07\x1b]0;what?\x07\x1bP+q544e\x1b\\\x1b[31m\x1b[5n\x1b[14t\x1b[8;1t";
  const expected = ["CSI ?2026$p", "CSI >0q", "OSC 11;?", "DCS +q544e", "CSI 5n", "CSI 14t"]
    .map((probe) => `probe unknown | terminal | ${probe}`);
  assertEquals(words(examiner().event(output(text))), expected);
  const { event } = examiner();
  assertEquals(words([...text].flatMap((character) => event(output(character)))), expected);
});

const screen = (...lines: readonly string[]) => ({
  type: "screen",
  screen: { lines, cursor: { row: lines.findIndex((line) => line.startsWith("❯")) + 1, col: 1 } },
});
const UNKNOWN = screen("Would you like tea?", "", "❯ 1. Yes, please", "  2. Never", "");

Deno.test("a standing unknown dialog is reported once", () => {
  const { event } = examiner();
  const look = (at: number) => words(event(input(UNKNOWN, at)));
  const dialog = "dialog unknown | screen | Yes, please / Never";
  assertEquals([0, 1000, 2999].flatMap(look), []);
  assertEquals([3000, 5000].flatMap(look), [dialog]);
  const end = { type: "end", ending: { kind: "dialog", screen: UNKNOWN.screen } };
  assertEquals(event({ at: 6000, code: "d", data: JSON.stringify(end) }), []);
  const other = examiner();
  assertEquals(words(other.event({ at: 0, code: "d", data: JSON.stringify(end) })), [dialog]);
});

Deno.test("a list of a busy child is no dialog", () => {
  const busy = examiner();
  busy.event(input({ type: "status", status: "busy" }));
  assertEquals([0, 9000].flatMap((at) => busy.event(input(UNKNOWN, at))), []);
  const known = screen(
    "Bypass Permissions mode",
    "",
    "❯ 1. No, exit",
    "  2. Yes, I accept",
    "",
  );
  const { event } = examiner();
  assertEquals([0, 9000].flatMap((at) => event(input(known, at))), []);
});

Deno.test("an invalid screen is ignored", () => {
  const { lines, cursor } = UNKNOWN.screen;
  for (
    const screen of [
      ...[1, { cursor }, { lines: [...lines, 1], cursor }, { lines }, { lines, cursor: 1 }],
      ...[{ ...cursor, row: "a" }, { ...cursor, col: "a" }].map((cursor) => ({ lines, cursor })),
    ]
  ) {
    const { event } = examiner();
    const data = JSON.stringify({ ending: { kind: "dialog", screen } });
    assertEquals(event({ at: 0, code: "d", data }), []);
    assertEquals([0, 9000].flatMap((at) => event(input({ type: "screen", screen }, at))), []);
  }
});

const TEXT = `
import type { Elsewhere } from "elsewhere"; // declare type Comment = { no: 1; };
/** What is printed: declare type Quoted = { no: 2; }; */
declare type StdoutMessage = coreTypes.SDKMessage | Question;
export declare type SDKMessage = Answer | Open | { type: 'odd;|}'; 'quoted name'?: Array<{ a: 1 }>; };
export declare type Answer = {
    type: 'answer';
    subtype: 'good' | 'bad'; // which
    readonly text: string;
    /** Not there; before: string; */
    later?: (a: string, b: { c: 1 }) => void;
    map: Map<string, { deep: { er: "}" } }>;
};
export declare type Open = Elsewhere & { type: 'open'; };
declare type Question = { type: 'control_request'; request_id: string; request: SDKControlRequestInner; };
declare type SDKControlRequestInner = Ask;
declare interface Ask { subtype: 'ask'; why: string }
declare type Round = Round | Turn;
declare type Turn = Round & Turn;
export declare const HOOK_EVENTS: readonly ['Stop', 'Start'];
`;

Deno.test("object types are read from declarations", () => {
  const { objects, list } = readDeclarations(TEXT);
  const fields = (name: string) =>
    objects(name).map((object) =>
      [...object.fields].map(([field, { optional }]) => `${field}${optional ? "?" : ""}`).join(" ")
    );
  assertEquals(fields("SDKMessage"), [
    "type subtype text later? map",
    "type",
    "type quoted name?",
  ]);
  assertEquals(objects("SDKMessage").map(({ open }) => open), [false, true, false]);
  assertEquals(fields("Ask"), ["subtype why"]);
  for (const none of ["Comment", "Quoted", "Nowhere", "Elsewhere"]) assertEquals(fields(none), []);
  assertEquals(list("HOOK_EVENTS"), ["Stop", "Start"]);
  assertEquals(list("NOTHING"), []);
  assertEquals(literalsIn("'a' | \"b\" | string"), ["a", "b"]);
});

Deno.test("recursive types and unfinished declarations are read", () => {
  assertEquals(readDeclarations(TEXT).objects("Round").length < 3000, true);
  for (const start of ["declare type A = {", "declare type A = '", "/* declare type A = {};"]) {
    readDeclarations(start).objects("A");
  }
});

Deno.test("a frame is compared with its declaration", () => {
  const known = readKnown({
    version: "1.0.0",
    probes: [],
    shapes: { "frame answer/good": "undeclared?" },
  });
  const check = createDeclarationCheck(readDeclarations(TEXT), known);
  const found = (frame: JsonObject) =>
    check?.(frame).map(({ check, where, what }) => `${check} | ${where} | ${what}`);
  const good = { type: "answer", subtype: "good", text: "", map: {} };
  assertEquals(found(good), []);
  assertEquals(found({ ...good, later: 1, claude_version: "1", undeclared: 1 }), []);
  assertEquals(found({ ...good, more: 1 }), ["field new | frame answer/good | more"]);
  assertEquals(found({ type: "answer", subtype: "good", map: 1 }), [
    "field gone | frame answer/good | text",
  ]);
  assertEquals(found({ ...good, subtype: "ugly" }), ["type unknown | frame | answer/ugly"]);
  assertEquals(found({ type: "__proto__" }), ["type unknown | frame | __proto__"]);
  assertEquals(found({ type: "open", more: 1 }), []);
  for (const type of ["command_lifecycle", "system/shell_output_delta", "result/timeout"]) {
    const [name, subtype] = type.split("/");
    assertEquals(found({ type: name, subtype }), []);
  }
  assertEquals(found({ ...good, later: 1, hook_event: "Tea" }), [
    "field new | frame answer/good | hook_event",
    "hook event new | frame answer/good | Tea",
  ]);
  const asked = (request: JsonObject) =>
    found({ type: "control_request", request_id: "1", request });
  assertEquals(asked({ subtype: "ask", why: "" }), []);
  assertEquals(asked({ subtype: "tell" }), ["type unknown | frame | control_request/tell"]);
  assertEquals(asked({ subtype: "ask", how: "" }), [
    "field new | frame control_request/ask | how",
    "field gone | frame control_request/ask | why",
  ]);
  assertEquals(createDeclarationCheck(readDeclarations("export {};"), known), undefined);
  const older = readDeclarations("declare type SDKMessage = { type: 'a'; };");
  assertEquals(createDeclarationCheck(older, known)?.({ type: "a", claude_limits: [] }), []);
});
