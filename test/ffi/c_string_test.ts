import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { cString, cStringArray, escapedText } from "../../ffi/c_string.ts";

Deno.test("cString ends the UTF-8 bytes with one NUL", () => {
  assertEquals([...cString("é")], [0xc3, 0xa9, 0]);
  assertEquals([...cString("")], [0]);
});

Deno.test("cString refuses a NUL inside and shows no more than the start of a long text", () => {
  assertThrows(() => cString("a\0b"), TypeError, 'Cannot pass "a\\u0000b" to libc: it holds a NUL');
  const error = assertThrows(() => cString("x".repeat(1e6) + "\0"), TypeError);
  assertEquals(error.message.length < 120, true);
});

Deno.test("cStringArray points to each text in order and ends with NULL", () => {
  const text = fc.string({ unit: "grapheme" }).map((value) => value.replaceAll("\0", ""));
  fc.assert(fc.property(fc.array(text), (texts) => {
    const array = cStringArray(texts);
    const pointers = new BigUint64Array(array.buffer, 0, texts.length + 1);
    const read = [...pointers].map((pointer) => {
      const object = Deno.UnsafePointer.create(pointer);
      return object === null ? null : Deno.UnsafePointerView.getCString(object);
    });
    assertEquals(read, [...texts, null]);
  }));
});

Deno.test("escapedText keeps bytes that are not UTF-8 for cString", () => {
  const bytes = Uint8Array.from({ length: 255 }, (_, index) => index + 1);
  assertEquals(cString(escapedText(bytes)), Uint8Array.of(...bytes, 0));
  const mixed = `ä😀${escapedText(Uint8Array.of(0xff))}`;
  assertEquals(cString(mixed), Uint8Array.of(...new TextEncoder().encode("ä😀"), 0xff, 0));
});
