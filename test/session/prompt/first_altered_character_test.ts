import { assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { firstAlteredCharacter } from "../../../src/session/prompt/first_altered_character.ts";

/** The code points of these inclusive ranges. */
function* codePoints(...ranges: readonly (readonly [number, number])[]): Generator<number> {
  for (const [first, last] of ranges) for (let one = first; one <= last; one++) yield one;
}

const chars = String.fromCodePoint;

Deno.test("firstAlteredCharacter passes plain text of every kind", () => {
  const texts = [
    "",
    "plain ASCII ~ with\ttab\nand line feed\n",
    "accents é, wide 漢字　, no-break\u00a0space, private \ue000, combining e\u0301",
    "Ελληνικά русский العربية עברית ไทย हिन्दी 한국어",
    "😀 👍🏽 🇫🇷 🏴‍☠️",
    "ultracode U+FFFD \ufffd",
  ];
  for (const text of texts) assertEquals(firstAlteredCharacter(text), undefined, text);
});

Deno.test("firstAlteredCharacter names what is removed or becomes a line feed", () => {
  const altered = codePoints(
    [0x00, 0x08],
    [0x0b, 0x1f],
    [0x7f, 0x9f],
    [0xad, 0xad],
    [0x34f, 0x34f],
    [0x61c, 0x61c],
    [0x115f, 0x1160],
    [0x17b4, 0x17b5],
    [0x180b, 0x180f],
    [0x200b, 0x200f],
    [0x2028, 0x202e],
    [0x2060, 0x206f],
    [0x3164, 0x3164],
    [0xfe00, 0xfe0f],
    [0xfeff, 0xfeff],
    [0xffa0, 0xffa0],
    [0xfff0, 0xfffb],
    [0x1d173, 0x1d17a],
    [0xe0000, 0xe0fff],
  );
  for (const codePoint of altered) {
    const found = firstAlteredCharacter(`😀ab ${chars(codePoint)} c${chars(codePoint)}`);
    assertEquals([found?.offset, found?.codePoint], [5, codePoint]);
    const code = codePoint.toString(16).toUpperCase().padStart(4, "0");
    assertMatch(found?.name ?? "", new RegExp(`^U\\+${code} \\([a-zA-Z -]+\\)$`));
  }
});

Deno.test("firstAlteredCharacter passes every other character of the basic plane", () => {
  const suspects = new Set(
    codePoints(
      [0x00, 0x08],
      [0x0b, 0x1f],
      [0x7f, 0x9f],
      [0xad, 0xad],
      [0x34f, 0x34f],
      [0x61c, 0x61c],
      [0x115f, 0x1160],
      [0x17b4, 0x17b5],
      [0x180b, 0x180f],
      [0x200b, 0x200f],
      [0x2028, 0x202e],
      [0x2060, 0x206f],
      [0x3164, 0x3164],
      [0xd800, 0xdfff],
      [0xfe00, 0xfe0f],
      [0xfeff, 0xfeff],
      [0xffa0, 0xffa0],
      [0xfff0, 0xfffb],
    ),
  );
  const rest = [...codePoints([0, 0xffff])].filter((one) => !suspects.has(one));
  assertEquals(firstAlteredCharacter(rest.map((one) => chars(one)).join(" ")), undefined);
});

Deno.test("firstAlteredCharacter names CRLF, and half of a surrogate pair", () => {
  assertEquals(firstAlteredCharacter("a\r\nb"), {
    offset: 1,
    codePoint: 0x0d,
    name: "U+000D (carriage return)",
  });
  assertEquals(firstAlteredCharacter("a\ud83d"), {
    offset: 1,
    codePoint: 0xd83d,
    name: "U+D83D (half of a surrogate pair)",
  });
});

Deno.test("firstAlteredCharacter passes invisible characters that do their work", () => {
  const texts = [
    "family 👨\u200d👩\u200d👧",
    "judge 👩🏽\u200d⚖\ufe0f",
    "heart on fire ❤\ufe0f\u200d🔥",
    "heart ❤\ufe0f text ❤\ufe0e keycap 1\ufe0f\u20e3",
    "Persian می\u200cخواهم",
    "Devanagari क्\u200dष and क्\u200cष",
    "Thai ไทย\u200bไทย",
    "Khmer ក\u17b4",
    "Hebrew שלום!\u200f",
    "joined a\u0301\u034f\u0302",
    "union \u222a\ufe00",
    `England 🏴${[..."gbeng"].map((one) => chars(0xe0000 + one.charCodeAt(0))).join("")}\u{E007F}`,
  ];
  for (const text of texts) assertEquals(firstAlteredCharacter(text), undefined, text);
});

Deno.test("firstAlteredCharacter names the same characters where they have no work to do", () => {
  const cases: readonly (readonly [string, number])[] = [
    ["a\u200db", 1],
    ["👨\u200d", 2],
    ["👨\u200d\u200d👩", 2],
    ["word\ufe0f", 4],
    ["1\ufe0f", 1],
    ["a\u200cb", 1],
    ["a\u200bb", 1],
    ["hello\u200f", 5],
    ["שלום\u200fשלום", 4],
    ["🏴\u{E0067}\u{E007F}", 2],
    ["a\u{E0067}", 1],
    ["👨\u200d👩 then\u200bmore", 10],
  ];
  for (const [text, offset] of cases) {
    assertEquals(firstAlteredCharacter(text)?.offset, offset, text);
  }
});

Deno.test("firstAlteredCharacter does not depend on what follows the line or on earlier calls", () => {
  const piece = fc.constantFrom(
    "a",
    "1",
    " ",
    "❤",
    "\ufe0f",
    "👨",
    "\u200d",
    "م",
    "\u200c",
    "ไ",
    "\u200b",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), fc.string(), (pieces, tail) => {
      const text = pieces.join("");
      const found = firstAlteredCharacter(text);
      assertEquals(firstAlteredCharacter(text), found);
      const line = `${text}\n${tail}`;
      if (found !== undefined) assertEquals(firstAlteredCharacter(line), found);
      else assertEquals((firstAlteredCharacter(line)?.offset ?? line.length) > text.length, true);
    }),
  );
});

Deno.test("firstAlteredCharacter comes to the end of one long line of marks that stay", () => {
  assertEquals(firstAlteredCharacter("א" + "a\u200fא".repeat(300_000)), undefined);
});
