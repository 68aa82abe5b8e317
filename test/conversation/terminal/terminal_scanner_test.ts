import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  answerProbes,
  SCANNER_START,
  scanTerminal,
  type TerminalToken,
} from "../../../src/conversation/terminal/terminal_scanner.ts";

const encoder = new TextEncoder();

/** The tokens of some chunks. */
function tokensOf(chunks: readonly Uint8Array[], options = {}): readonly TerminalToken[] {
  let state = SCANNER_START;
  return chunks.flatMap((chunk) => {
    const scanned = scanTerminal(state, chunk, options);
    state = scanned.state;
    return scanned.tokens;
  });
}

/** The tokens as text. Neighbouring text is joined, as chunks may cut it anywhere. */
function spell(chunks: readonly Uint8Array[]): readonly string[] {
  const spelled: string[] = [];
  let text: number[] = [];
  const flush = () => {
    if (text.length > 0) spelled.push(`text ${new TextDecoder().decode(Uint8Array.from(text))}`);
    text = [];
  };
  for (const token of tokensOf(chunks)) {
    if (token.kind === "text") {
      text.push(...token.bytes);
      continue;
    }
    flush();
    const { kind, ...fields } = token;
    spelled.push([kind, ...Object.values(fields)].join(" "));
  }
  flush();
  return spelled;
}
const spellText = (text: string) => spell([encoder.encode(text)]);

/** Bytes of which many belong to sequences, in chunks. */
const interesting = fc.constantFrom(
  ...[0x1b, 0x5b, 0x5d, 0x63, 0x3f, 0x30, 0x07, 0x5c, 0x50, 0x18, 0x41],
);
const anyChunks = fc.array(
  fc.array(fc.oneof(interesting, fc.integer({ min: 0, max: 255 })), { maxLength: 40 })
    .map((values) => Uint8Array.from(values)),
  { maxLength: 8 },
);

Deno.test("scanTerminal() separates sequences and text", () => {
  const text = "hi\x1b[?2004h\x1b]0;title\x07\x1b7\x1bP>|x\x1b\\\x1b[6n\x1b(Bé";
  assertEquals(spellText(text), [
    ...["text hi", "csi ?2004 h", "string ] 0;title", "esc  7", "string P >|x", "csi 6 n"],
    ...["esc ( B", "text é"],
  ]);
});

Deno.test("scanTerminal() finds the same in any chunks", () => {
  const bytes = encoder.encode("aé\x1b[>0q\x1b[c\x1b_Gi=31\x1b\\\x1b]7501;?\x07\x1b[0mend");
  const whole = spell([bytes]);
  for (let at = 0; at <= bytes.length; at++) {
    assertEquals(spell([bytes.subarray(0, at), bytes.subarray(at)]), whole, `split at ${at}`);
  }
  fc.assert(
    fc.property(anyChunks, (chunks) => {
      const joined = Uint8Array.from(chunks.flatMap((chunk) => [...chunk]));
      assertEquals(spell(chunks), spell([joined]));
    }),
    { numRuns: 50 },
  );
});

Deno.test("scanTerminal() finds the same if it looks for one kind", () => {
  const probes = (chunks: readonly Uint8Array[], options: { readonly only?: string }) =>
    tokensOf(chunks, options).filter((token) => token.kind === "csi" && token.final === "c");
  fc.assert(
    fc.property(anyChunks, (chunks) => {
      assertEquals(probes(chunks, { only: "c" }), probes(chunks, {}));
    }),
    { numRuns: 50 },
  );
});

Deno.test("scanTerminal() starts again after cancelled and unfinished sequences", () => {
  assertEquals(spellText("\x1b[12\x18ok"), ["text ok"]);
  assertEquals(spellText("\x1b]0;a\x1b[c"), ["string ] 0;a", "csi  c"]);
  assertEquals(spellText("\x1b[1\x002\x7fm"), ["csi 12 m"], "control characters are left out");
});

Deno.test("scanTerminal() keeps a bounded part of an endless sequence", () => {
  const { state } = scanTerminal(SCANNER_START, encoder.encode("\x1b]" + "x".repeat(100_000)));
  assertEquals(state.collected.length, 4096);
});

Deno.test("answerProbes() answers DA1 only", () => {
  const answer = (text: string) => answerProbes(tokensOf([encoder.encode(text)]));
  assertEquals(answer("\x1b[>0q\x1b[c\x1b[6n\x1b[0c\x1b[>c\x1b[18t"), "\x1b[?6c\x1b[?6c");
  const others = "\x1b[?u\x1b]7501;?\x07\x1b[16t\x1b[?1016$p\x1b_Gi=31\x1b\\\x1b[5n\x1b[=c";
  assertEquals(answer(others), "");
});
