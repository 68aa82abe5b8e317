import { assertEquals } from "@std/assert";
import { visibleScreen } from "../../src/redaction/visible_screen.ts";

Deno.test("a screen is shown as somebody in front of it would have seen it", () => {
  const screen = [
    "\u3164\u2800\u00a0",
    "│ Do you\u200b trust\u202e\u3000this? │",
    "❯ 1. Yes\ufe0f\u{e0041} ☎\ufe0f \x9b6n",
    "",
  ];
  assertEquals(visibleScreen(screen, { text: (text) => text.replace("Yes", "[redacted]") }), [
    "│ Do you trust this? │",
    "❯ 1. [redacted] ☎\ufe0f 6n",
  ]);
  assertEquals(visibleScreen(["\u200b", " "], { text: (text) => text }), []);
});
