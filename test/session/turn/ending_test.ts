import { assertEquals } from "@std/assert";
import { announces } from "../../../src/session/turn/ending.ts";

Deno.test("announces() tells whether a message is, or ends in, a text of the transcript", () => {
  for (
    const [message, text, expected] of [
      ["Done.", "Done.", true],
      ["Done.", "\n Done.\n\n", true],
      ["I shall look.\n\nDone.", "Done.", true],
      ["I shall look.\n\nDone.", "I shall look.", false],
      ["Done.", "", false],
      ["Done.", " \n", false],
      ["", "Done.", false],
    ] as const
  ) {
    assertEquals(announces(message, text), expected, JSON.stringify([message, text]));
  }
});
