import { assertEquals } from "@std/assert";
import { printSentence } from "../../../src/frames/result/print_sentence.ts";

/** What the interactive Claude Code says of an error, and what `claude -p` of the same version does. */
const PAIRS: readonly (readonly [string, string])[] = [
  [
    "Please run /login · API Error: 401 Invalid bearer token",
    "Failed to authenticate. API Error: 401 Invalid bearer token",
  ],
  [
    "There's an issue with the selected model (m). It may not exist or you may not have access " +
    "to it. Run /model to pick a different model.",
    "There's an issue with the selected model (m). It may not exist or you may not have access " +
    "to it. Run --model to pick a different model.",
  ],
  [
    "Request too large (max 32MB). Double press esc to go back and try with a smaller file.",
    "Request too large (max 32MB). Try with a smaller file.",
  ],
  [
    "Request too large (max 32MB). Accumulated images and attachments in the conversation pushed " +
    "the request over the limit. Run /compact, or double press esc to go back and remove " +
    "attachments.",
    "Request too large (max 32MB). Accumulated images and attachments in the conversation pushed " +
    "the request over the limit. Remove older images or compact the conversation.",
  ],
  [
    "API Error: Claude Code is unable to respond to this request, which appears to violate our " +
    "Usage Policy (https://www.anthropic.com/legal/aup). Please double press esc to edit your " +
    "last message or start a new session for Claude Code to assist with a different task.\n\n" +
    "Request ID: req_1",
    "API Error: Claude Code is unable to respond to this request, which appears to violate our " +
    "Usage Policy (https://www.anthropic.com/legal/aup). Try rephrasing the request in a new " +
    "session or change your model.\n\nRequest ID: req_1",
  ],
  [
    "API Error: Opus 5.5's safeguards flagged this message. Try rephrasing the request.\n\n" +
    "You can learn more: https://support.claude.com\n\nRequest ID: req_1",
    "API Error: Opus 5.5's safeguards flagged this message. Try rephrasing the request.\n\n" +
    "Learn more: https://support.claude.com\n\nRequest ID: req_1",
  ],
];

Deno.test("printSentence() says an error in the words of claude -p", () => {
  for (const [interactive, print] of PAIRS) assertEquals(printSentence(interactive), print);
});

Deno.test("printSentence() leaves what reads alike in both as it is", () => {
  for (
    const sentence of [
      "Credit balance is too low",
      "API Error: 529 Overloaded",
      "Not logged in · Please run /login",
      "API Error: 400 no\n\nYou can learn more: https://support.claude.com",
      "",
    ]
  ) assertEquals(printSentence(sentence), sentence);
});

Deno.test("printSentence() looks back no further than a sentence is long, however often a text says its end", () => {
  const text = "\n\nYou can learn more: ".repeat(50_000);
  assertEquals(printSentence(text), text);
});
