import { assertEquals } from "@std/assert";
import { readKnown } from "../../../src/drift/known.ts";
import { declaredCheck } from "../../../src/drift/sdk/check_declared.ts";
import { literalsIn, readDeclarations } from "../../../src/drift/sdk/declarations.ts";
import type { JsonObject } from "../../../src/json_object.ts";

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

Deno.test("objects are read from declarations, whatever stands around them", () => {
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
  assertEquals([fields("Comment"), fields("Quoted"), fields("Nowhere"), fields("Elsewhere")], [
    [],
    [],
    [],
    [],
  ]);
  assertEquals(list("HOOK_EVENTS"), ["Stop", "Start"]);
  assertEquals(list("NOTHING"), []);
  assertEquals(literalsIn("'a' | \"b\" | string"), ["a", "b"]);
});

Deno.test("types that name each other, and texts that end nowhere, come to an end", () => {
  assertEquals(readDeclarations(TEXT).objects("Round").length < 3000, true);
  for (
    const text of [
      "declare type A = {",
      "declare type A = '",
      "/* declare type A = {};",
      "declare type A = ",
    ]
  ) {
    readDeclarations(text).objects("A");
  }
});

Deno.test("a frame is held against what is declared of its type", () => {
  const known = readKnown({
    version: "1.0.0",
    probes: [],
    shapes: { "frame answer/good": "undeclared?" },
  });
  const check = declaredCheck(readDeclarations(TEXT), known);
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
  assertEquals(found({ type: "result", subtype: "timeout" }), []);
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
  assertEquals(declaredCheck(readDeclarations("export {};"), known), undefined);
});
