import { assert, assertEquals } from "@std/assert";
import { isSameTitle, sessionTitle } from "../../src/transcript/session_title.ts";

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
