import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { redactedGaps, redactPieces } from "../../src/redaction/redact_pieces.ts";

const redact = (text: string) => text.replaceAll("secret", "[redacted]");

Deno.test("redactPieces() finds a secret across cuts and leaves its word where it began", () => {
  assertEquals(redactPieces(["a sec", "r", "et b", " c"], redact), [
    "a [redacted]",
    "",
    " b",
    " c",
  ]);
  // Nothing says where one ends and the other begins.
  assertEquals(redactPieces(["secret", "secret"], redact), ["[redacted][redacted]", ""]);
  assertEquals(redactPieces(["a ", "secret"], redact), ["a ", "[redacted]"]);
  assertEquals(redactPieces(["[redacted] sec", "ret"], redact), ["[redacted] [redacted]", ""]);
  assertEquals(redactPieces(["nothing", " here"], redact), ["nothing", " here"]);
});

Deno.test("redactPieces() gives as many pieces, which make up the redacted text", () => {
  const piece = fc.string({
    unit: fc.constantFrom("sec", "ret", "s", "[redacted]", "a", "secret"),
  });
  fc.assert(fc.property(fc.array(piece, { minLength: 1 }), (pieces) => {
    const redacted = redactPieces(pieces, redact);
    assertEquals(redacted.length, pieces.length);
    assertEquals(redacted.join(""), redact(pieces.join("")));
  }));
});

Deno.test("redactPieces() trusts a redactor that does more than to take out", () => {
  assertEquals(redactPieces(["a", "b"], () => "other"), ["other", ""]);
});

Deno.test("redactedGaps() says what was taken out", () => {
  assertEquals(redactedGaps("a secret b", "a [redacted] b"), [{ start: 2, end: 8 }]);
  assertEquals(redactedGaps("same", "same"), []);
  assertEquals(redactedGaps("one", "two"), undefined);
});

Deno.test("texts of any length and in any number of pieces come to an end", () => {
  const pieces = Array.from({ length: 200_000 }, () => "a secret");
  const redacted = redactPieces(pieces, redact);
  assertEquals([redacted.length, redacted[0], redacted.at(-1)], [
    200_000,
    "a [redacted]",
    "a [redacted]",
  ]);
  // A search that begins anew at each place compares half of such a text at each of them.
  const length = 300_000;
  const kept = `${"x".repeat(length)}b${"x".repeat(length)}`;
  assertEquals(
    redactedGaps(`${"x".repeat(2 * length)}${kept}secret`, `[redacted]${kept}[redacted]`),
    [{ start: 0, end: 2 * length }, { start: 4 * length + 1, end: 4 * length + 7 }],
  );
});
