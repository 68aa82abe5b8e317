import { assert, assertEquals } from "@std/assert";
import { redactTerminal } from "../../../src/cassette/record/redact_terminal.ts";
import { createRedactor } from "../../../src/redaction/redact.ts";

const SECRET = "sk-ant-api03-0123456789abcdefghij";
const { text: redact } = createRedactor({ env: { DOOR_PASSWORD: "swordfish-42" } });
const redacted = (...pieces: readonly string[]) => redactTerminal(pieces, redact);

Deno.test("a secret in several colours is found, and the colours stay", () => {
  assertEquals(
    redacted("\x1b[1msk-ant-\x1b[31mapi03-0123\x1b[0m456789abcdefghij \x1b[2mis it"),
    ["\x1b[1m[redacted]\x1b[31m\x1b[0m \x1b[2mis it"],
  );
});

Deno.test("a secret that goes on in the next row of a frame is found, and the frame stays", () => {
  assertEquals(
    redacted("│ sword", "\x1b[20G│\r\n\x1b[2m│ \x1b[22mfish-42 │"),
    ["│ [redacted]", "\x1b[20G│\r\n\x1b[2m│ \x1b[22m │"],
  );
  assertEquals(redacted("sword\x1b[5;1Hfish-42"), ["[redacted]\x1b[5;1H"]);
});

Deno.test("a secret behind a blank that is a move of the cursor is found", () => {
  const [text = ""] = redacted(`Authorization:\x1b[1CBearer\x1b[22Gabcdef0123456789abcdef`);
  assertEquals(text, "Authorization:\x1b[1CBearer\x1b[22G[redacted]");
});

Deno.test("a secret in a title is found", () => {
  assertEquals(redacted(`\x1b]0;Using ${SECRET}\x07ok`), ["\x1b]0;Using [redacted]\x07ok"]);
});

Deno.test("every cut of the output is found", () => {
  const text = `\x1b[1mThe key\x1b[9G${SECRET}\x1b[22m!`;
  for (let cut = 1; cut < text.length; cut++) {
    const pieces = redacted(text.slice(0, cut), text.slice(cut));
    assert(!pieces.join("").includes("0123456789"), `cut at ${cut}`);
    assertEquals(pieces.length, 2);
  }
});

Deno.test("output without secrets stays as it is", () => {
  const pieces = [
    "\x1b[?25l\x1b[38;5;174m ▐▛███▜▌\x1b[39m",
    "\x1b7\x1b[r\x1b8\r\n\x1b]0;title\x07 plain",
  ];
  assertEquals(redactTerminal(pieces, redact), pieces);
});

Deno.test("what is read of an output is no longer than the output", () => {
  const lengths: number[] = [];
  const output = "\x1b[80C\x1b[9;9H".repeat(1000);
  redactTerminal([output], (text) => {
    lengths.push(text.length);
    return text;
  });
  assertEquals(lengths.every((length) => length <= output.length), true);
});
