import { assertEquals } from "@std/assert";
import { sessionKind } from "../../src/transcript/session_kind.ts";

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
