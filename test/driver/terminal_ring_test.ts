import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { TerminalRing } from "../../src/driver/sources/terminal_ring.ts";

const CAPACITY = 512 * 1024;

/** Everything a ring keeps, as one array. */
function kept(ring: TerminalRing): Uint8Array {
  return Uint8Array.from(ring.chunks().flatMap((chunk) => [...chunk]));
}

Deno.test("TerminalRing keeps copies, in order", () => {
  const ring = new TerminalRing();
  assertEquals(kept(ring), new Uint8Array());
  const bytes = Uint8Array.of(1, 2, 3);
  ring.push(bytes);
  bytes.fill(9);
  ring.push(Uint8Array.of(4));
  assertEquals(kept(ring), Uint8Array.of(1, 2, 3, 4));
});

Deno.test("TerminalRing keeps the last bytes of whatever was pushed", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: CAPACITY + 10 }), { minLength: 1, maxLength: 4 }),
      (lengths) => {
        const ring = new TerminalRing();
        const all = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0))
          .map((_, index) => index * 31 + (index >> 8));
        let from = 0;
        for (const length of lengths) {
          ring.push(all.subarray(from, from + length));
          from += length;
        }
        const [first = new Uint8Array(), second = new Uint8Array()] = ring.chunks();
        const found = new Uint8Array(first.length + second.length);
        found.set(first);
        found.set(second, first.length);
        assertEquals(found, all.subarray(Math.max(0, all.length - CAPACITY)));
      },
    ),
    { numRuns: 20 },
  );
});
