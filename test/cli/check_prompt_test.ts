import { assertEquals } from "@std/assert";
import { checkPrompt, MAX_PROMPT_LENGTH } from "../../src/cli/check_prompt.ts";

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
