import { assertEquals, assertThrows } from "@std/assert";
import { CliError } from "../../../src/cli_error.ts";
import { promptLines } from "../../../src/commands/cassette/prompt_lines.ts";

Deno.test("promptLines() says again what was said, as it was said", () => {
  const content = [{ type: "text", text: "Two" }, { type: "text", text: "parts" }];
  const lines = promptLines([
    "One",
    { text: "Two\nparts", content, way: "rendezvous" },
    { text: "Three", way: "stdin" },
    { text: "[MARK]\nFour", content: "Four", way: "rendezvous", synthetic: true },
  ]);
  assertEquals(lines.map(({ text, content, ticket }) => [ticket, text, content]), [
    ["0", "One", "One"],
    ["1", "Two\nparts", content],
    ["2", "Three", "Three"],
    ["3", "Four", "Four"],
  ]);
  // What was not the user's is not the user's then either.
  assertEquals(lines.map(({ synthetic }) => synthetic), [undefined, undefined, undefined, true]);
});

Deno.test("promptLines() refuses what cannot be sent before anything is", () => {
  assertThrows(() => promptLines(["fine", " "]), CliError, "nothing but white space");
  const content = [{ type: "document" }];
  assertThrows(
    () => promptLines([{ text: "", content, way: "rendezvous" }]),
    CliError,
    'Cannot send the recorded prompt: claude-print passes no "document" blocks on',
  );
});
