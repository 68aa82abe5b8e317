import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { redactedGaps, redactPieces } from "../../src/cassette/redact_pieces.ts";

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
