import fc from "fast-check";

/**
 * Any character, each second one of the first 256: what `unit: "binary"` of fast-check is too, once it has gone through
 * all of Unicode, which takes a second in each thread.
 */
export const anyCharacter: fc.Arbitrary<string> = fc
  .oneof(fc.nat(0xff), fc.nat(0x10ffff - 0x800))
  .map((index) => String.fromCodePoint(index < 0xd800 ? index : index + 0x800));
