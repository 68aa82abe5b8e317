import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { SCANNER_START, scanTerminal } from "../../../src/session/terminal/terminal_scanner.ts";
import { scanChunks } from "./scan_chunks.ts";

const encoder = new TextEncoder();

Deno.test("scanTerminal() tells sequences and text apart", () => {
  const bytes = encoder.encode(
    "hi\x1b[?2004h\x1b]0;title\x07\x1b7\x1bP>|x\x1b\\\x1b[6n\x1b(Bé",
  );
  assertEquals(scanChunks([bytes]), [
    "text hi",
    "csi ?2004 h",
    "string ] 0;title",
    "esc 7",
    "string P >|x",
    "csi 6 n",
    "esc B",
    "text é",
  ]);
});

Deno.test("scanTerminal() finds the same at every chunk split", () => {
  const bytes = encoder.encode("aé\x1b[>0q\x1b[c\x1b_Gi=31\x1b\\\x1b]7501;?\x07\x1b[0mend");
  const whole = scanChunks([bytes]);
  for (let at = 0; at <= bytes.length; at++) {
    assertEquals(scanChunks([bytes.subarray(0, at), bytes.subarray(at)]), whole, `split at ${at}`);
  }
});

Deno.test("scanTerminal() finds the same for any bytes in any chunks", () => {
  const interesting = fc.constantFrom(
    0x1b,
    0x5b,
    0x5d,
    0x63,
    0x3f,
    0x30,
    0x07,
    0x5c,
    0x50,
    0x18,
    0x41,
  );
  fc.assert(fc.property(
    fc.array(fc.oneof(interesting, fc.integer({ min: 0, max: 255 })), { maxLength: 200 }),
    fc.array(fc.nat(200), { maxLength: 8 }),
    (values, cuts) => {
      const bytes = Uint8Array.from(values);
      const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b)];
      const chunks = at.map((from, index) => bytes.subarray(from, at[index + 1] ?? bytes.length));
      assertEquals(scanChunks(chunks), scanChunks([bytes]));
    },
  ));
});

Deno.test("scanTerminal() begins anew after a cancelled sequence and inside an unfinished string", () => {
  assertEquals(scanChunks([encoder.encode("\x1b[12\x18ok")]), ["text ok"]);
  assertEquals(scanChunks([encoder.encode("\x1b]0;a\x1b[c")]), ["string ] 0;a", "csi  c"]);
});

Deno.test("scanTerminal() keeps no more than a bounded part of an endless sequence", () => {
  const { state } = scanTerminal(SCANNER_START, encoder.encode("\x1b]" + "x".repeat(100_000)));
  assertEquals(state.collected.length, 4096);
});

Deno.test("scanTerminal() finds the same sequences of one kind where nothing else is to be told", () => {
  const interesting = fc.constantFrom(0x1b, 0x5b, 0x5d, 0x63, 0x30, 0x07, 0x5c, 0x18, 0x41);
  const chunk = fc.array(fc.oneof(interesting, fc.integer({ min: 0, max: 255 })), { maxLength: 60 })
    .map((values) => Uint8Array.from(values));
  const probesIn = (chunks: readonly Uint8Array[], only: string | undefined) => {
    let state = SCANNER_START;
    return chunks.map((bytes) => {
      const scanned = scanTerminal(state, bytes, { only });
      state = scanned.state;
      return scanned.tokens.filter((token) => token.kind === "csi" && token.final === "c");
    });
  };
  fc.assert(fc.property(fc.array(chunk, { maxLength: 6 }), (chunks) => {
    assertEquals(probesIn(chunks, "c"), probesIn(chunks, undefined));
  }));
});
