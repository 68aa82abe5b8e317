import { assertEquals } from "@std/assert";
import { withoutOwnNotice } from "../../../src/conversation/terminal/screen.ts";

const HEADER = " ▝▝   ▝▝   ~/project";
const LOG = "/tmp/claude-print-0/17-92-ea07b2fd/own/debug.log";
const PROMPT = "❯ Hello";

for (
  const [what, notice, remains] of [
    ["in one row", [`▎ Debug mode enabled · logging to ${LOG}`], false],
    ["in several rows", ["▎ Debug mode enabled · logging", `▎ to ${LOG}`], false],
    [
      "with a broken path",
      ["▎ Debug mode enabled · logging to", "▎ /tmp/x/ow", "▎ n/debug.log"],
      false,
    ],
    ["of a user's own log", ["▎ Debug mode enabled · logging to /home/user/debug.log"], true],
    ["of another kind", ["▎ 3 more notices"], true],
  ] as const
) {
  Deno.test(`a notice ${what} ${remains ? "remains" : "is removed"}`, () => {
    const lines = [HEADER, "", ...notice, "", PROMPT];
    const shown = remains ? lines : [HEADER, "", PROMPT];
    // A redrawn screen has its beginning twice.
    assertEquals(withoutOwnNotice([...lines, ...lines]), [...shown, ...shown]);
  });
}
