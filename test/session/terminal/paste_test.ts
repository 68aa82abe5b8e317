import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import { anyCharacter } from "../../any_character.ts";
import {
  ECHO_START,
  encodePaste,
  pasteRefusal,
  seeEcho,
} from "../../../src/session/terminal/paste.ts";

const encoder = new TextEncoder();

Deno.test("encodePaste() brackets the prompt's own bytes", () => {
  assertEquals(encodePaste("a\né"), encoder.encode("\x1b[200~a\né\x1b[201~"));
});

/** The pieces of an encoded paste. */
const unpack = (bytes: Uint8Array) =>
  new TextDecoder().decode(bytes).split("\x1b[201~").slice(0, -1)
    .map((piece) => piece.replace("\x1b[200~", ""));

Deno.test("encodePaste() pastes pieces that stay small and make up the prompt", () => {
  const line = fc.string({ unit: "grapheme", maxLength: 300 }).map((text) =>
    text.replace(/\p{Cc}/gu, "")
  );
  fc.assert(fc.property(fc.array(line, { minLength: 1, maxLength: 30 }), (lines) => {
    const prompt = lines.join("\n");
    const pieces = unpack(encodePaste(prompt));
    assertEquals(pieces.join(""), prompt);
    for (const piece of pieces) assert(piece.isWellFormed());
  }));
  const ascii = unpack(encodePaste(`${"word ".repeat(1000)}\n${"a\n".repeat(50)}end`));
  for (const piece of ascii) {
    assert(piece.length <= 600 && (piece.match(/\n/gu) ?? []).length <= 2, JSON.stringify(piece));
  }
});

Deno.test("encodePaste() never cuts an emoji's sequence, and gives up on too many pieces", () => {
  const family = "👨‍👩‍👧❤️";
  for (const piece of unpack(encodePaste(`a${family.repeat(100)}b c`))) {
    assertEquals(piece.replaceAll(family, "").replace(/[abc ]/gu, ""), "");
  }
  assertEquals(unpack(encodePaste("x".repeat(100_000))).length, 1);
});

Deno.test("pasteRefusal() names what the input box would change", () => {
  assertStringIncludes(pasteRefusal("a\x1b[201~b") ?? "", "U+001B at offset 1");
  assertStringIncludes(pasteRefusal("a\tb") ?? "", "U+0009");
  assertStringIncludes(pasteRefusal("a\r\nb") ?? "", "U+000D");
  assertStringIncludes(pasteRefusal("a\u009bb") ?? "", "U+009B");
  assertStringIncludes(pasteRefusal("!ls") ?? "", "shell");
  assertStringIncludes(pasteRefusal("abc\\") ?? "", "backslash");
  assertStringIncludes(pasteRefusal("abc \n") ?? "", "trimmed");
  assertEquals(pasteRefusal("a\nb ❤️ \\ c"), undefined);
});

Deno.test("pasteRefusal() lets nothing through that could press a key", () => {
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (prompt) => {
    if (pasteRefusal(prompt) !== undefined) return;
    for (const char of prompt) {
      const code = char.codePointAt(0) as number;
      assert(code === 0x0a || (code >= 0x20 && code < 0x7f) || code > 0x9f);
    }
  }));
});

Deno.test("seeEcho() finds the prompt's end at every chunk split, blanks left out", () => {
  const prompt = "say hé there";
  const shown = encoder.encode("❯ sayhé   there");
  for (let at = 0; at <= shown.length; at++) {
    const first = seeEcho(ECHO_START, { visible: shown.subarray(0, at), prompt });
    const second = seeEcho(first.state, { visible: shown.subarray(at), prompt });
    assert(second.echoed, `split at ${at}`);
    assertEquals(first.echoed, at === shown.length);
  }
});

Deno.test("seeEcho() takes the placeholder of a long paste for its echo", () => {
  const visible = encoder.encode("❯ [Pasted text #1");
  assert(seeEcho(ECHO_START, { visible, prompt: "x".repeat(2000) }).echoed);
});

Deno.test("seeEcho() does not see a prompt that is not there", () => {
  const visible = encoder.encode("Welcome back! ? for shortcuts");
  assert(!seeEcho(ECHO_START, { visible, prompt: "hello there" }).echoed);
});
