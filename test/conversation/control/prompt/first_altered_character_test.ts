import { assert, assertEquals, assertMatch } from "@std/assert";
import fc from "fast-check";
import { firstAlteredCharacter } from "../../../../src/conversation/control/prompt/first_altered_character.ts";

/** Inclusive ranges of code points of the basic plane that are removed or replaced where nothing saves them. */
const ALTERED: readonly (readonly [number, number])[] = [
  ...[[0x00, 0x08], [0x0b, 0x1f], [0x7f, 0x9f], [0xad, 0xad], [0x34f, 0x34f], [0x61c, 0x61c]],
  ...[[0x115f, 0x1160], [0x17b4, 0x17b5], [0x180b, 0x180f], [0x200b, 0x200f], [0x2028, 0x202e]],
  ...[[0x2060, 0x206f], [0x3164, 0x3164], [0xfe00, 0xfe0f], [0xfeff, 0xfeff], [0xffa0, 0xffa0]],
  [0xfff0, 0xfffb],
] as const;
const SURROGATES = [0xd800, 0xdfff] as const;
/** The same beyond the basic plane. */
const BEYOND: typeof ALTERED = [[0x1d173, 0x1d17a], [0xe0000, 0xe0fff]];

const isIn = (codePoint: number) => ([first, last]: readonly [number, number]) =>
  first <= codePoint && codePoint <= last;
const chars = String.fromCodePoint;
const nameAt = (text: string) => firstAlteredCharacter(text)?.name;
const offsetIn = (text: string) => firstAlteredCharacter(text)?.offset;

/** The flag of a subdivision of a country. */
const flagOf = (name: string) =>
  `🏴${[...name].map((each) => chars(0xe0000 + each.charCodeAt(0))).join("")}\u{E007F}`;

Deno.test("plain text passes", () => {
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

Deno.test("altered characters are named, all others pass", () => {
  for (const [first, last] of [...ALTERED, ...BEYOND]) {
    for (let codePoint = first; codePoint <= last; codePoint += last > 0xffff ? 61 : 1) {
      const found = firstAlteredCharacter(`😀ab ${chars(codePoint)} c${chars(codePoint)}`);
      assertEquals([found?.offset, found?.codePoint], [5, codePoint]);
      const code = codePoint.toString(16).toUpperCase().padStart(4, "0");
      assertMatch(found?.name ?? "", new RegExp(`^U\\+${code} \\([a-zA-Z -]+\\)$`));
    }
  }
  const others = Array.from({ length: 0x10000 }, (_, codePoint) => codePoint)
    .filter((codePoint) => ![...ALTERED, SURROGATES].some(isIn(codePoint)));
  assertEquals(firstAlteredCharacter(others.map((each) => chars(each)).join(" ")), undefined);
});

Deno.test("names say which kind of character it is", () => {
  const rows = [
    ["a\r\nb", "U+000D (carriage return)"],
    ["a\x1bb", "U+001B (escape)"],
    ["a\x01b", "U+0001 (control character)"],
    ["a\ud83d", "U+D83D (half of a surrogate pair)"],
    ["a\ufe01", "U+FE01 (variation selector)"],
    ["a\u{e0020}", "U+E0020 (tag character)"],
    ["a\u202a", "U+202A (direction override)"],
    ["a\u202e", "U+202E (direction override)"],
    ["a\u2061", "U+2061 (invisible character)"],
    ["a\u200b", "U+200B (zero width space)"],
  ] as const;
  for (const [text, name] of rows) assertEquals(nameAt(text), name);
});

Deno.test("invisible characters with work to do pass", () => {
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
    `England ${flagOf("gbeng")}`,
  ];
  for (const text of texts) assertEquals(firstAlteredCharacter(text), undefined, text);
});

Deno.test("the same characters are altered without work to do", () => {
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
    [flagOf("gbnir"), 2],
    [flagOf("gbeng").replace("\u{E0067}", "g"), 3],
    ["a\u{E0067}", 1],
    ["👨\u200d👩 then\u200bmore", 10],
  ];
  for (const [text, offset] of cases) assertEquals(offsetIn(text), offset, text);
});

Deno.test("result depends on the line only, not on earlier calls", () => {
  const piece = fc.constantFrom(
    ...["a", "1", " ", "❤", "\ufe0f", "👨", "\u200d", "م", "\u200c", "ไ", "\u200b"],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 10 }), fc.string(), (pieces, tail) => {
      const text = pieces.join("");
      const found = firstAlteredCharacter(text);
      assertEquals(firstAlteredCharacter(text), found);
      const line = `${text}\n${tail}`;
      if (found !== undefined) assertEquals(firstAlteredCharacter(line), found);
      else assert((offsetIn(line) ?? line.length) > text.length);
    }),
    { numRuns: 50 },
  );
});

/** How many patterns are tested while a text is searched. */
function testsOf(text: string): number {
  const { test } = RegExp.prototype;
  let tests = 0;
  RegExp.prototype.test = function (string) {
    tests++;
    return test.call(this, string);
  };
  try {
    assertEquals(firstAlteredCharacter(text), undefined);
  } finally {
    RegExp.prototype.test = test;
  }
  return tests;
}

Deno.test("long line of marks takes proportional steps", () => {
  const line = (marks: number) => "x".repeat(marks) + "א" + "a\u200fא".repeat(marks);
  const [short, long] = [testsOf(line(100)), testsOf(line(1000))];
  assert(short > 100 && long < 11 * short, `${short} and ${long} steps`);
});
