import fc from "fast-check";

const count = fc.oneof(
  fc.constantFrom(
    "",
    "0",
    "1",
    "00000000000000000001",
    "2147483647",
    "4294967296",
    "9".repeat(400),
  ),
  fc.nat(300).map(String),
  fc.nat(0xffffffff).map(String),
);
const parameters = fc.oneof(
  count,
  fc.array(count, { maxLength: 6 }).map((counts) => counts.join(";")),
  fc.array(count, { maxLength: 40 }).map((counts) => counts.join(":")),
);
const final = fc.integer({ min: 0x40, max: 0x7e }).map((code) => String.fromCharCode(code));
const control = fc.tuple(
  fc.constantFrom(
    "\x1b[",
    "\x1b[",
    "\x1b[",
    "\x1b[?",
    "\x1b[>",
    "\x1b[ ",
    "\u009b",
    "\x1bP",
    "\x1b]",
  ),
  parameters,
  fc.constantFrom("", "", "", " ", "'", "!", '"', "$"),
  fc.oneof(final, fc.constantFrom(..."bLMSTPX@IZHrJKm")),
).map((parts) => parts.join(""));
const other = fc.constantFrom(
  ...["\x1bc", "\x1b#8", "\x1b(0", "\x1bD", "\x1bM", "\x1bE", "\x1b7", "\x1b8", "\x1bH", "\x1b[4h"],
  ...["\x1b[?1049h", "\x1b[?1049l", "\x1b[?47h", "\x1b[?47l", "\x1b[?3h", "\x1b[?6h", "\x1b[?7l"],
  ...[
    "\x1b[8;9999;9999t",
    "\x1b]8;;http://x\x07",
    "\x1b]52;c;eA==\x1b\\",
    "\x1bPq#0~~\x1b\\",
    "\x1b_G",
  ],
  ...["\n", "\r", "\t", "\b", "\v", "\x0e", "\x18", "\x1b", "\x07", "\x9b"],
);
const text = fc.tuple(
  fc.constantFrom("a", "日", "🙂", "\u0301", "\u200d", "👩‍💻", "\ufe0f", "\u1161", "\n", " "),
  fc.constantFrom(1, 1, 3, 40, 300),
).map(([character, times]) => character.repeat(times));

/** Output of a child that wants its terminal to count, to keep or to copy more than there is room for. */
export const hostileOutput: fc.Arbitrary<string> = fc
  .array(fc.oneof({ arbitrary: control, weight: 4 }, other, text, fc.string()), { maxLength: 20 })
  .map((parts) => parts.join(""));
