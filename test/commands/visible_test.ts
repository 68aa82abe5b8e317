import { assertEquals } from "@std/assert";
import { visible } from "../../src/commands/visible.ts";

Deno.test("visible() names what could move a cursor, reorder or hide, and keeps the rest", () => {
  assertEquals(visible("plain\tünï 漢字 ❤️ \u{1f44d}\n"), "plain\tünï 漢字 ❤️ \u{1f44d}\n");
  assertEquals(visible("\x1b]52;c;eA==\x07"), "<U+001B>]52;c;eA==<U+0007>");
  assertEquals(visible("a\rb\x9bc\x7f"), "a<U+000D>b<U+009B>c<U+007F>");
  assertEquals(
    visible("\u202eevil\u2066\u200b\u2028\u{e0041}"),
    [
      ...["<U+202E>evil<U+2066>", "<U+200B>", "<U+2028>", "<U+E0041>"],
    ].join(""),
  );
});
