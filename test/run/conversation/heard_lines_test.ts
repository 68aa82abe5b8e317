import { assertEquals } from "@std/assert";
import { heardLines } from "../../../src/run/conversation/heard_lines.ts";
import { readEntry } from "../../../src/transcript/entry.ts";

Deno.test("heardLines() knows a line of the assistant's at once, and one of the user's when the next input comes", () => {
  const lines = heardLines();
  const hear = (type: string, uuid: string) => {
    const entry = readEntry({
      type,
      uuid,
      message: { id: "m", model: "m", role: type, content: [{ type: "text", text: "hi" }] },
    });
    if (entry !== undefined) lines.hear({ at: 0, type: "transcript", entry });
    return lines.last();
  };
  assertEquals(lines.last(), undefined);
  assertEquals(hear("user", "1"), undefined);
  assertEquals(hear("assistant", "2"), "2");
  assertEquals(hear("user", "3"), "2");
  lines.hear({ at: 1, type: "read" });
  assertEquals(lines.last(), "3");
});
