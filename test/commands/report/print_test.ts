import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { print, reportJson, visible } from "../../../src/commands/report/print.ts";

/** A stream that takes some bytes a write, or throws; when its turns are over it takes everything. */
function streamOf(turns: readonly (number | Error)[]) {
  const written: number[] = [];
  const left = [...turns];
  return {
    written,
    writeSync: (bytes: Uint8Array): number => {
      const turn = left.shift() ?? bytes.length;
      if (turn instanceof Error) throw turn;
      written.push(...bytes.subarray(0, turn));
      return Math.min(turn, bytes.length);
    },
  };
}

function textOf({ written }: { readonly written: readonly number[] }): string {
  return new TextDecoder().decode(Uint8Array.from(written));
}

Deno.test("print() goes on where a write stopped, in the middle of a character too", () => {
  const stream = streamOf([1, 2, 0, 1]);
  print(stream, "ünïcödé 👍🏽\n");
  assertEquals(textOf(stream), "ünïcödé 👍🏽\n");
});

Deno.test("print() tries again while a pipe is full", () => {
  const full = new Deno.errors.WouldBlock("full");
  const stream = streamOf([3, full, full, 2, full]);
  print(stream, "0123456789");
  assertEquals(textOf(stream), "0123456789");
});

Deno.test("print() stops without a word when the reader is gone", () => {
  const stream = streamOf([3, new Deno.errors.BrokenPipe("gone")]);
  print(stream, "0123456789");
  assertEquals(textOf(stream), "012");
});

Deno.test("print() says what else keeps it from writing", () => {
  const cause = new Error("No space left on device (os error 28)");
  const error = assertThrows(
    () => print(streamOf([cause]), "text"),
    CliError,
    "Cannot write the output: No space left on device (os error 28)",
  );
  assertEquals([error.exitCode, error.cause], [2, cause]);
});

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
