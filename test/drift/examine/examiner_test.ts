import { assertEquals } from "@std/assert";
import { createExaminer, type Examiner } from "../../../src/drift/examine/examiner.ts";
import type { Found } from "../../../src/drift/finding.ts";
import { readKnown } from "../../../src/drift/known.ts";
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

const examiner = (version = "2.1.332"): Examiner => createExaminer({ known: KNOWN, version });
const words = (found: readonly Found[]) =>
  found.map(({ check, where, what }) => `${check} | ${where} | ${what}`);
const input = (value: unknown, at = 0) => ({ at, code: "h", data: JSON.stringify(value) });
const output = (data: string) => ({ at: 0, code: "o", data });

const INIT = { type: "system", subtype: "init", session_id: "s", cwd: "/" };
const ANSWER = {
  type: "assistant",
  session_id: "s",
  message: { id: "m", model: "x", content: [{ type: "text", text: "hi" }] },
};

Deno.test("a frame that is as it is known is nothing to tell", () => {
  const { frame } = examiner();
  assertEquals([INIT, ANSWER].flatMap(frame), []);
});

Deno.test("what of a frame is not as it is known", () => {
  const { frame } = examiner();
  const cases: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{ type: "news", a: 1 }, ["type unknown | frame | news"]],
    [{ ...INIT, subtype: "fresh" }, ["type unknown | frame | system/fresh"]],
    // This program prints it, though no recording has it here.
    [{ ...INIT, sandbox_enabled: false }, []],
    [{ ...INIT, mood: "good" }, ["field new | frame system/init | mood"]],
    [{ type: "system", subtype: "init", session_id: "s" }, [
      "field gone | frame system/init | cwd",
    ]],
    [{ ...ANSWER, error: "rate_limit" }, []],
    [{ ...ANSWER, message: { ...ANSWER.message, content: [{ type: "poem" }] } }, [
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

Deno.test("which fields have to be there depends on the version", () => {
  const old = { type: "system", subtype: "init", session_id: "s" };
  assertEquals(examiner("2.1.300").frame(old), []);
  assertEquals(words(examiner("99.0.0").frame(old)), ["field gone | frame system/init | cwd"]);
  const learning = createExaminer({ known: KNOWN });
  assertEquals(learning.version(), undefined);
  learning.frame({ ...old, claude_code_version: "2.1.300" });
  learning.frame({ ...old, claude_code_version: "9.9.9" });
  assertEquals(learning.version(), "2.1.300");
});

Deno.test("names of the prototype of objects are names like others", () => {
  const { frame } = examiner();
  assertEquals(words(frame(JSON.parse('{"type":"__proto__"}'))), [
    "type unknown | frame | __proto__",
  ]);
  assertEquals(words(frame({ type: "constructor" })), ["type unknown | frame | constructor"]);
  assertEquals(words(frame(JSON.parse(`{"__proto__":1,${JSON.stringify(INIT).slice(1)}`))), [
    "field new | frame system/init | __proto__",
  ]);
});

Deno.test("the events of hooks on a tape", () => {
  const known = readKnown({
    version: "2.1.332",
    probes: [],
    shapes: {
      "frame system/hook_started": "",
      "frame control_request/hook_callback": "",
      "hook Stop": "hook_event_name session_id",
    },
  });
  const { frame } = createExaminer({ known });
  const told = (hook_event: string) =>
    words(frame({ type: "system", subtype: "hook_started", session_id: "s", hook_event }));
  assertEquals(told("Stop"), []);
  assertEquals(told("Tea"), ["hook event new | hook | Tea"]);
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

Deno.test("hooks, lines, statuses and the API's events on a cast", () => {
  const { event } = examiner();
  const said = (value: unknown) => words(event(input(value)));
  assertEquals(said({ type: "hook", event: "Stop", payload: { session_id: "s" } }), []);
  assertEquals(said({ type: "hook", event: "Teatime", payload: {} }), [
    "hook event new | hook | Teatime",
  ]);
  assertEquals(said({ type: "hook", event: "Stop", payload: { sugar: 1 } }), [
    "field new | hook Stop | sugar",
    "field gone | hook Stop | session_id",
  ]);
  assertEquals(
    said({ type: "transcript", line: { type: "user", message: { content: "hi" } } }),
    [],
  );
  assertEquals(said({ type: "transcript", line: { type: "diary" } }), [
    "type unknown | line | diary",
  ]);
  assertEquals(said({ type: "earlier", lines: [{ type: "diary" }] }), [
    "type unknown | line | diary",
  ]);
  assertEquals(said({ type: "subagent", line: { type: "user", message: 1 } }), [
    "frame rejected | line user | it does not look as such a line has to",
  ]);
  const attached = { type: "attachment", attachment: { type: "skill_listing", names: [] } };
  assertEquals(said({ type: "transcript", line: { ...attached, uuid: "u" } }), []);
  assertEquals(said({ type: "transcript", line: { ...attached, mood: "good" } }), [
    "field new | line attachment/skill_listing | mood",
  ]);
  assertEquals(said({ type: "status", status: "idle" }), []);
  assertEquals(said({ type: "status", status: "bored" }), ["type unknown | status | bored"]);
  assertEquals(said({ type: "stream", part: { kind: "event", event: { type: "sigh" } } }), [
    "type unknown | event | sigh",
  ]);
  assertEquals(event({ at: 0, code: "h", data: "[".repeat(10_000) }), []);
  assertEquals(event({ at: 0, code: "h", data: "{" }), []);
});

Deno.test("a question to the terminal that no recording has, wherever its output is cut", () => {
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

Deno.test("a dialog that is not known and stands is told once", () => {
  const { event } = examiner();
  const look = (at: number) => words(event(input(UNKNOWN, at)));
  const told = "dialog unknown | screen | Yes, please / Never";
  assertEquals([0, 1000, 2999].flatMap(look), []);
  assertEquals([3000, 5000].flatMap(look), [told]);
  const end = { type: "end", ending: { kind: "dialog", screen: UNKNOWN.screen } };
  assertEquals(event({ at: 6000, code: "d", data: JSON.stringify(end) }), []);
  const other = examiner();
  assertEquals(words(other.event({ at: 0, code: "d", data: JSON.stringify(end) })), [told]);
});

Deno.test("a list on the screen of a child that works is no dialog, and a known dialog is none that is unknown", () => {
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

Deno.test("a screen without what a screen has is passed over", () => {
  const { event } = examiner();
  for (const value of [1, {}, { lines: [1], cursor: {} }, { lines: [], cursor: { row: "a" } }]) {
    assertEquals(event(input({ type: "screen", screen: value }, 9000)), []);
  }
});
