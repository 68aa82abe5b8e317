import { assertEquals } from "@std/assert";
import { reportJson } from "../../../src/commands/report/report_json.ts";
import { visible } from "../../../src/commands/report/visible.ts";

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

/** Characters that nobody sees, one family a row. */
const UNSEEN: Readonly<Record<string, readonly number[]>> = {
  controls: [0x00, 0x07, 0x08, 0x0b, 0x0d, 0x1b, 0x7f, 0x80, 0x85, 0x9b, 0x9d, 0x9f],
  "direction marks": [0x61c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069],
  "zero width": [0xad, 0x180e, 0x200b, 0x200c, 0x200d, 0x2060, 0x2064, 0x206f, 0xfeff, 0x1d173],
  fillers: [0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0, 0x16fe4, 0x1d159],
  selectors: [0x180b, 0x180d, 0xfe00, 0xfe0e, 0xfe0f, 0xe0100, 0xe01ef],
  tags: [0xe0001, 0xe0020, 0xe0041, 0xe007f, 0xe0fff],
  blanks: [0xa0, 0x1680, 0x2000, 0x2007, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000],
  "no characters": [0xd800, 0xdfff, 0xfdd0, 0xfffc, 0xfffe, 0x10ffff],
};

for (const [family, codes] of Object.entries(UNSEEN)) {
  Deno.test(`visible() names what nobody sees: ${family}`, () => {
    for (const code of codes) {
      const name = `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
      const character = String.fromCodePoint(code);
      assertEquals(visible(`a${character}b${character}`), `a${name}b${name}`);
      // For machines it stays what it is, in a spelling that shows.
      const json = reportJson([`a${character}`]);
      assertEquals(JSON.parse(json), [`a${character}`]);
      assertEquals(visible(json), json);
    }
  });
}

Deno.test("visible() keeps what is seen, of any script", () => {
  for (
    const text of [
      "e\u0301 ệ नि क्षि 한국어 \u1112\u1161 ไทย עברית ﷺ",
      "✓ … │ ❯ — ⠋ \ue0b0 👍🏽 ☎\ufe0f ㊗\ufe0f",
    ]
  ) assertEquals(visible(text), text);
  assertEquals(visible("❤\ufe0f\ufe0f a\ufe0f"), "❤\ufe0f<U+FE0F> a<U+FE0F>");
});

Deno.test("visible() piles up no marks, and tells no line without end", () => {
  assertEquals(visible(`a${"\u0301".repeat(1000)}b`), `a${"\u0301".repeat(8)}<992 marks>b`);
  const long = "x".repeat(40_000);
  assertEquals(visible(`${long}\nshort`), `${long.slice(0, 32_768)}<7232 more characters>\nshort`);
});
