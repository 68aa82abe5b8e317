import { assertEquals, assertInstanceOf, assertThrows } from "@std/assert";
import fc from "fast-check";
import { anyCharacter } from "../any_character.ts";
import {
  checkPrompt,
  decodePrompt,
  MAX_PROMPT_LENGTH,
  noPrompt,
} from "../../src/cli/check_prompt.ts";
import { CliError } from "../../src/cli_error.ts";

Deno.test("checkPrompt passes ordinary and awkward prompts", () => {
  const prompts = [
    "hi",
    " \n x",
    "/help",
    "!ls",
    "# title",
    "@file",
    "exit",
    "\uFEFFhi",
    "a\\",
    "x".repeat(MAX_PROMPT_LENGTH),
  ];
  for (const prompt of prompts) assertEquals(checkPrompt(prompt), undefined);
});

Deno.test("noPrompt names a flag that has taken what may be the prompt", () => {
  const text = `fix ${"🧪".repeat(50)}\nand more`;
  assertEquals(
    noPrompt({ flag: "--tools", text }).suggestion,
    `If "fix ${
      "🧪".repeat(35)
    }…" is the prompt: --tools takes all that follows it; put the prompt before it, or after "--"`,
  );
  assertEquals(noPrompt().suggestion, 'Type claude-print "your prompt", or pipe the prompt in');
});

Deno.test("checkPrompt refuses a prompt without text and says what to type", () => {
  for (const prompt of ["", " ", "\n\t\r\n", "\u00a0\u3000", "\uFEFF"]) {
    const error = checkPrompt(prompt);
    assertEquals(error?.exitCode, 2);
    assertEquals(error?.suggestion, 'Type claude-print "your prompt", or pipe the prompt in');
  }
  assertEquals(checkPrompt("")?.message, "Cannot start a turn: there is no prompt");
  assertEquals(
    checkPrompt(" ")?.message,
    "Cannot start a turn: the prompt is nothing but white space",
  );
});

Deno.test("checkPrompt refuses NUL with its offset in bytes", () => {
  assertEquals(
    checkPrompt("é😀\0\0")?.message,
    "Cannot send the prompt: it holds a NUL character at byte offset 6",
  );
});

Deno.test("checkPrompt refuses more than Claude Code reads", () => {
  assertEquals(
    checkPrompt("x".repeat(MAX_PROMPT_LENGTH + 1))?.message,
    "Cannot send the prompt: it is longer than the 10 MiB Claude Code reads",
  );
});

Deno.test("checkPrompt refuses half of a surrogate pair, which has no bytes", () => {
  for (const prompt of ["\ud83d", "a\ude00b", "😀".slice(1)]) {
    assertEquals(
      checkPrompt(prompt)?.message,
      "Cannot send the prompt: it holds half of a surrogate pair",
    );
  }
});

function errorOf(bytes: readonly number[]): CliError {
  return assertThrows(() => decodePrompt(new Uint8Array(bytes), '"f"'), CliError);
}

Deno.test("decodePrompt names the offset of the first byte that is not UTF-8", () => {
  const message = (offset: number) =>
    `Cannot send "f": it is not UTF-8 from byte offset ${offset} on`;
  assertEquals(errorOf([0xff]).message, message(0));
  assertEquals(errorOf([0x61, 0xc3]).message, message(1));
  assertEquals(errorOf([0xef, 0xbb, 0xbf, 0x61, 0x80]).message, message(4));
  assertEquals(errorOf([0xef, 0xbf, 0xbd, 0xef, 0xbf]).message, message(3));
  assertEquals(errorOf([0xed, 0xa0, 0x80]).message, message(0));
  assertEquals(errorOf([0xff, 0x00]).message, message(0));
});

Deno.test("decodePrompt names the offset of a NUL byte that comes first", () => {
  const error = errorOf([0x7f, 0x45, 0x00, 0xff]);
  assertEquals(error.message, 'Cannot send "f": it holds a NUL byte at byte offset 2');
  assertEquals(error.exitCode, 2);
});

Deno.test("decodePrompt gives text that encodes to the same bytes, or throws", () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 40 }).map((one) =>
    new TextEncoder().encode(one)
  );
  const marked = text.map((bytes) => new Uint8Array([0xef, 0xbb, 0xbf, ...bytes]));
  const wild = fc.uint8Array({ maxLength: 40 });
  const nearly = fc.array(fc.constantFrom(0x61, 0xc3, 0xa9, 0xef, 0xbf, 0xbd, 0xf0, 0x9f), {
    maxLength: 12,
  }).map((bytes) => new Uint8Array(bytes));
  fc.assert(
    fc.property(fc.oneof(text, marked, wild, nearly), (bytes) => {
      try {
        assertEquals(new TextEncoder().encode(decodePrompt(bytes, "stdin")), bytes);
      } catch (error) {
        assertInstanceOf(error, CliError);
        const offset = Number(/byte offset (\d+)/.exec(error.message)?.[1]);
        const strict = (end: number) =>
          new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(0, end));
        strict(offset);
        if (error.message.includes("NUL")) assertEquals(bytes.indexOf(0), offset);
        else assertThrows(() => strict(bytes.length), TypeError);
      }
    }),
    { numRuns: 500 },
  );
});
