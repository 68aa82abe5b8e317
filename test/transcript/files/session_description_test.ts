import { assert, assertEquals } from "@std/assert";
import {
  isSameTitle,
  sessionKind,
  sessionTitle,
} from "../../../src/transcript/files/session_description.ts";

const kindOf = (...lines: readonly unknown[]) =>
  sessionKind(lines.map((one) => JSON.stringify(one)));

Deno.test("sessionKind() tells conversations from what nobody goes on with", () => {
  assertEquals(kindOf({ type: "user", isSidechain: false, entrypoint: "cli" }), "conversation");
  assertEquals(kindOf({ type: "mode" }, { type: "assistant", sessionKind: "" }), "conversation");
  assertEquals(kindOf({ type: "user" }, { type: "user", isSidechain: true }), "conversation");
  assertEquals(kindOf({ type: "user", isSidechain: true }), "aside");
  assertEquals(kindOf({ type: "user", teamName: "team" }), "aside");
  assertEquals(kindOf({ type: "user", sessionKind: "daemon-worker" }), "aside");
  assertEquals(kindOf({ type: "user", sessionKind: "bg" }), "background");
  assertEquals(kindOf({ type: "custom-title", customTitle: "t" }), "wordless");
  assertEquals(sessionKind(["", "not json", "[]"]), "wordless");
});

const given = (customTitle: unknown) => JSON.stringify({ type: "custom-title", customTitle });
const madeUp = (aiTitle: unknown) => JSON.stringify({ type: "ai-title", aiTitle });

Deno.test("sessionTitle() is the last one given, else the last one made up", () => {
  assertEquals(sessionTitle([given("old"), given("new"), madeUp("ai")]), "new");
  assertEquals(sessionTitle([madeUp("one"), madeUp("two")]), "two");
  assertEquals(
    sessionTitle(['{"type":"user","customTitle":"no"}', given(1), "", "half"]),
    undefined,
  );
  assertEquals(sessionTitle([given("whole"), '{"type":"custom-title","cus']), "whole");
});

Deno.test("isSameTitle() heeds neither case nor spaces around it", () => {
  assert(isSameTitle(" My Title", "my title "));
  assert(!isSameTitle("my", "my title"));
});
