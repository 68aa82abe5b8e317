import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { firstAlteredCharacter } from "../../../src/conversation/control/prompt/first_altered_character.ts";
import { pasteRefusal } from "../../../src/conversation/terminal/paste.ts";
import { messagesRequest } from "../../../src/recording/learn/reply_script.ts";
import { forNewestVersion } from "../../real/for_each_version.ts";
import { sha256 } from "../../../fixtures/mock/files/journal.ts";
import { StandIn } from "../../program/stand_in.ts";

/** Sequences that would press keys, end a paste, or drive a terminal. */
const KEYS = [
  ...["\x1b[201~\r", "\x1b[200~", "\x1b", "\x1b\x1b", "\x1b[A", "\x1b[Z", "\x1b[3;5~", "\x1bOP"],
  ...["\x1b[?2004l", "\x1b[c", "\x1b[?6c", "\x1b[1;1R", "\x1b[M abc", "\x1b[<0;1;1M", "\x1b[I"],
  ...["\x1b]0;title\x07", "\x1b]52;c;ZXZpbA==\x1b\\", "\x1bP+q544e\x1b\\", "\x1b_Gi=1\x1b\\"],
  ...["\x03", "\x04", "\x0c", "\x0f", "\x12", "\x1a", "\x1c", "\x7f", "\x08", "\r", "\r\n"],
  ...["\x9b201~\x0d", "\x9d0;title\x9c", "\x85", "\x90", "\x98", "\x9e", "\x9f"],
];

/** Marks that change the writing direction. */
const BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c";

Deno.test("control characters are never pasted, and are proved delivered", () => {
  for (let code = 0; code < 0xa0; code++) {
    if (code === 0x0a || (code >= 0x20 && code < 0x7f)) continue;
    const name = `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    assertStringIncludes(pasteRefusal(`before ${String.fromCharCode(code)} after`) ?? "", name);
  }
  for (const mark of BIDI) {
    const code = (mark.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0");
    assertStringIncludes(pasteRefusal(`a ${mark} b`) ?? "", `U+${code} at offset 2`);
  }
  for (const piece of [...KEYS, ...BIDI]) {
    assert(pasteRefusal(`a ${piece} b`) !== undefined, JSON.stringify(piece));
    // A line end of two characters reaches the API in every release unchanged.
    if (piece === "\r\n") continue;
    assert(firstAlteredCharacter(`a ${piece} b`) !== undefined, JSON.stringify(piece));
  }
});

Deno.test("control characters on stdin press no keys", async () => {
  await using claude = await StandIn.set();
  const prompt = [...KEYS, BIDI].join("\nsome text ");
  const run = await claude.printInProcess([], { stdin: prompt });
  assertEquals([run.stderr, run.code], ["", 0]);
  const bytes = new TextEncoder().encode(prompt);
  assertEquals(
    (await claude.journal("prompt")).map((each) => [each.origin, each.bytes, each.sha256]),
    [["reply", bytes.length, await sha256(bytes)]],
  );
  assertEquals(await claude.keys(), []);
});

forNewestVersion("control and invisible characters reach the API as text", async (real) => {
  const prompt = ["Say hello.", ...KEYS, BIDI].join("\nthen ");
  const run = await real.printInProcess([], { stdin: prompt });
  assertEquals(run.code, 0, run.stderr);
  const [request] = real.api.turns.map(({ body }) => messagesRequest(body));
  const content = request?.messages.findLast(({ role }) => role === "user")?.content ?? "";
  const texts = typeof content === "string" ? [content] : content.map(({ text }) => text);
  assert(texts.includes(prompt), JSON.stringify(texts));
});
