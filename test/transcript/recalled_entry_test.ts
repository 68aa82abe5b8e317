import { assertEquals } from "@std/assert";
import { parseEntry } from "../../src/transcript/entry.ts";
import { recalledEntry } from "../../src/transcript/recalled_entry.ts";

function recalled(line: Readonly<Record<string, unknown>>): unknown {
  const entry = parseEntry(JSON.stringify(line));
  return entry === undefined ? undefined : recalledEntry(entry);
}

Deno.test("of what was said in an earlier run it is known who said something, and not what", () => {
  const long = "x".repeat(1000);
  const message = {
    role: "assistant",
    id: "m1",
    model: "opus",
    content: [{ type: "text", text: long }],
  };
  assertEquals(recalled({ type: "assistant", uuid: "a", message, requestId: long }), {
    type: "assistant",
    uuid: "a",
    isSidechain: undefined,
    message: { id: "m1", model: "opus", content: [] },
  });
  const content = [{ type: "tool_result", tool_use_id: "t", content: long, is_error: true }];
  assertEquals(
    recalled({ type: "user", uuid: "u", message: { role: "user", content }, toolUseResult: long }),
    {
      type: "user",
      uuid: "u",
      isSidechain: undefined,
      meaning: "tool-result",
      message: { content: "" },
    },
  );
});

Deno.test("of an earlier run all is known of what is on offer, and of the session's title", () => {
  for (
    const line of [
      {
        type: "attachment",
        attachment: { type: "skill_listing", names: ["s"], content: "- s: x" },
      },
      { type: "api-request", querySource: "repl_main_thread", shapeHash: "h" },
      { type: "custom-title", customTitle: "Mine" },
      { type: "cost-state", totalCostUSD: 1 },
      { type: "system", subtype: "compact_boundary" },
    ]
  ) {
    const entry = parseEntry(JSON.stringify(line));
    assertEquals(recalled(line), entry);
  }
  assertEquals(recalled({ type: "file-history-snapshot", snapshot: {} }), undefined);
});
