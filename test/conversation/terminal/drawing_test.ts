import { assert, assertEquals } from "@std/assert";
import xterm from "@xterm/headless";
import fc from "fast-check";
import { DRAWING_START, filterDrawing } from "../../../src/conversation/terminal/drawing_filter.ts";
import {
  HeadlessTerminal,
  screenOf,
} from "../../../src/conversation/terminal/headless_terminal.ts";

const encoder = new TextEncoder();
const SIZE = { rows: 50, cols: 220 };
const SMALL = { rows: 6, cols: 11 };
/** Work of a look at the screen, and the most that one output may be, in units of 10 ns. */
const WORK = 20_000_000;
const MOST_WORK_OF_ONE = 5_000_000;

const ENDLESS = ["2147483647", "4294967296", "9".repeat(400)];
const count = fc.oneof(
  fc.constantFrom("", "0", "1", "00000000000000000001", ...ENDLESS),
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
    ...["\x1b[", "\x1b[", "\x1b[", "\x1b[?", "\x1b[>", "\x1b[ ", "\u009b", "\x1bP", "\x1b]"],
  ),
  parameters,
  fc.constantFrom("", "", "", " ", "'", "!", '"', "$"),
  fc.oneof(final, fc.constantFrom(..."bLMSTPX@IZHrJKm")),
).map((parts) => parts.join(""));
const other = fc.constantFrom(
  ...["\x1bc", "\x1b#8", "\x1b(0", "\x1bD", "\x1bM", "\x1bE", "\x1b7", "\x1b8", "\x1bH", "\x1b[4h"],
  ...["\x1b[?1049h", "\x1b[?1049l", "\x1b[?47h", "\x1b[?47l", "\x1b[?3h", "\x1b[?6h", "\x1b[?7l"],
  ...["\x1b[8;9999;9999t", "\x1b]8;;http://x\x07", "\x1b]52;c;eA==\x1b\\", "\x1bPq#0~~\x1b\\"],
  ...["\x1b_G", "\n", "\r", "\t", "\b", "\v", "\x0e", "\x18", "\x1b", "\x07", "\x9b"],
);
const text = fc.tuple(
  fc.constantFrom("a", "日", "🙂", "\u0301", "\u200d", "👩‍💻", "\ufe0f", "\u1161", "\n", " "),
  fc.constantFrom(1, 1, 3, 40, 300),
).map(([character, times]) => character.repeat(times));
/** Output that wants its terminal to count, keep or copy more than there is room for. */
const hostile = fc
  .array(fc.oneof({ arbitrary: control, weight: 4 }, other, text, fc.string()), { maxLength: 20 })
  .map((parts) => parts.join(""));

/** What passes of some output, and the work it makes. */
function filtered(chunks: readonly Uint8Array[], { size = SIZE, otherScreen = true } = {}) {
  let state = DRAWING_START;
  let text = "";
  let work = 0;
  for (const chunk of chunks) {
    const next = filterDrawing(state, chunk, { size, otherScreen });
    state = next.state;
    for (const piece of next.pieces) {
      text += piece.text;
      work += piece.work;
    }
  }
  return { text, work };
}
const filteredText = (text: string, options = {}) => filtered([encoder.encode(text)], options).text;
const workOf = (text: string) => filtered([encoder.encode(text)], { size: SMALL }).work;

/** The largest number that each sequence can use on a terminal of this size. */
function limitOf(final: string, { rows, cols }: typeof SIZE): number {
  if (final === "b") return rows * cols;
  if (final === "m") return 255;
  if ("JK".includes(final)) return 2;
  if ("hl".includes(final)) return 2026;
  if ("Hf".includes(final)) return Math.max(rows, cols);
  return "ABEFdeLMSTr".includes(final) ? rows : cols;
}

Deno.test("filter leaves no number beyond the terminal's size", () => {
  const side = fc.integer({ min: 1, max: 1000 });
  // deno-lint-ignore no-control-regex
  const sequence = /\x1b(?:\[(\??[\d;:]*)([@-~])|[78DEM])/gu;
  fc.assert(
    fc.property(hostile, side, side, fc.boolean(), (output, rows, cols, otherScreen) => {
      const size = { rows, cols };
      const text = filteredText(output, { size, otherScreen });
      for (const [whole, parameters = "", final = ""] of text.matchAll(sequence)) {
        for (const number of parameters.match(/\d+/g) ?? []) {
          assert(Number(number) <= limitOf(final, size), JSON.stringify(whole));
        }
      }
      const rest = text.replace(sequence, "");
      // deno-lint-ignore no-control-regex
      assert(!/[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]/u.test(rest), JSON.stringify(rest));
      assert(!/[\p{M}\u200c\u200d]{9}/u.test(rest), JSON.stringify(rest));
    }),
    { numRuns: 100 },
  );
});

Deno.test("filter clamps numbers to the most there is", () => {
  const rows = [
    ["a\x1b[2147483647b", "a\x1b[11000b"],
    ["\x1b[2147483647L\x1b[99999999999S", "\x1b[50L\x1b[50S"],
    ["\x1b[9999;9999H\x1b[0;9999r", "\x1b[50;220H\x1b[0;50r"],
    ["\x1b[8;9999;9999t\x1b]0;x\x07\x1bPq~\x1b\\\x1bc\x1b#8\x1b(0", ""],
    // A mark is repeated with its cell.
    ["e\u0301\x1b[99999b", "e\u0301\x1b[5500b"],
  ] as const;
  for (const [output, passed] of rows) assertEquals(filteredText(output), passed);
});

Deno.test("filter does not depend on chunks", () => {
  const bytes = encoder.encode("日\u0301\x1b[2147483647b\x9b\x1b[?25;1049h\n\u0301\x1b[4hé");
  assertEquals(filtered(Array.from(bytes, (byte) => Uint8Array.of(byte))), filtered([bytes]));
  fc.assert(
    fc.property(hostile, fc.array(fc.nat()), (output, cuts) => {
      const bytes = encoder.encode(output);
      const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)];
      const chunks = at.map((from, index) => bytes.subarray(from, at[index + 1] ?? bytes.length));
      assertEquals(filtered(chunks), filtered([bytes]));
    }),
    { numRuns: 40 },
  );
});

Deno.test("each sequence that passes is work", () => {
  for (const sequence of ["\x1b[m", "\x1b[A", "\x1b[?25l", "\x1b[r", "\x1bM"]) {
    assert(workOf(sequence) > 0, JSON.stringify(sequence));
  }
});

Deno.test("insert mode makes text more work until it ends", () => {
  const plain = workOf("x".repeat(100));
  const inserted = workOf(`\x1b[4h${"x".repeat(100)}`) - workOf("\x1b[4h");
  assert(inserted > plain, `${inserted} and ${plain}`);
  const modes = workOf("\x1b[4h\x1b[4l");
  assertEquals(workOf(`\x1b[4h\x1b[4l${"x".repeat(100)}`) - modes, plain);
});

async function shown(output: string, { work = WORK, size = SIZE } = {}) {
  using terminal = await HeadlessTerminal.open(size);
  await terminal.draw([encoder.encode(output)], { work });
  return screenOf(terminal).lines;
}

/** Sequences that pass, with numbers far beyond a small screen. */
const drawn = fc.oneof(
  fc.tuple(fc.constantFrom(..."ABCDEFGHIJKLMPSTXZ@`adefrm"), fc.nat(90)).map(([final, count]) =>
    `\x1b[${"JK".includes(final) ? count % 3 : count}${final}`
  ),
  fc.tuple(fc.nat(30), fc.nat(30), fc.constantFrom("H", "r")).map(([first, second, final]) =>
    `\x1b[${first};${second}${final}`
  ),
  fc.constantFrom("\n", "\r", "\t", "\b", "\x1bM", "\x1bD", "\x1bE", "\x1b7", "\x1b8", "\x1b[4h"),
  fc.constantFrom("\x1b[4l", "\x1b[?7l", "\x1b[?7h", "\x1b[?6h", "\x1b[?1049h", "\x1b[?1049l"),
  fc.stringMatching(/^[a-z日本é🙂]{1,9}$/u),
);

Deno.test("terminal shows the same as without the filter", async () => {
  const plain = new xterm.Terminal({ ...SMALL, allowProposedApi: true, scrollback: 0 });
  using terminal = await HeadlessTerminal.open(SMALL);
  const clear = "\x1b[?1049l\x1b[?6l\x1b[?7h\x1b[4l\x1b[m\x1b[r\x1b[H\x1b7\x1b[2J";
  for (const parts of fc.sample(fc.array(drawn, { maxLength: 30 }), { numRuns: 120, seed: 1 })) {
    const output = clear + parts.join("");
    await new Promise<void>((done) => plain.write(output, done));
    await terminal.draw([encoder.encode(output)], { work: Infinity });
    assertEquals(screenOf(terminal), screenOf(plain), JSON.stringify(output));
  }
  plain.dispose();
});

Deno.test("hostile outputs are drawn with little work", async () => {
  using terminal = await HeadlessTerminal.open(SIZE);
  for (const output of fc.sample(hostile, { numRuns: 60, seed: 20 })) {
    const bytes = encoder.encode(output);
    const { work } = filtered([bytes]);
    assert(work < MOST_WORK_OF_ONE, JSON.stringify(output));
    await terminal.draw([bytes], { work: WORK });
    assertEquals(screenOf(terminal).lines.length, SIZE.rows);
  }
  const last = encoder.encode("\x07\x1b\\\x1b[r\x1b[?6l\x1b[4l\x1b[H\x1b[2Jend");
  await terminal.draw([last], { work: WORK });
  assertEquals(screenOf(terminal).lines[0], "end");
});

Deno.test("flood is drawn as far as its end", async () => {
  const floods = ["\x1b[50S", "\x1b[50L", "\x1b[2J", "a\x1b[99999b", "\x1b[?47h\x1b[?47l", "\n"];
  for (const flood of floods) {
    const output = `${flood.repeat(20_000 / flood.length)}\x1b[Hend`;
    const [first] = await shown(output, { work: 500_000 });
    assertEquals(first?.slice(0, 3), "end", JSON.stringify(flood));
  }
});

Deno.test("too much output is drawn from its end", async () => {
  const rows = Array.from({ length: 2000 }, (_, row) => `row ${row}`).join("\r\n");
  assertEquals((await shown(rows, { work: 50_000 })).at(-1), "row 1999");
  using terminal = await HeadlessTerminal.open({ rows: 2, cols: 9 });
  const size = { rows: 3, cols: 12 };
  const output = [encoder.encode("lost"), size, encoder.encode(`${rows}\x1b[?25l`)];
  await terminal.draw(output, { work: 50_000 });
  assertEquals(screenOf(terminal).lines, ["row 1997", "row 1998", "row 1999"]);
  assertEquals(terminal.isCursorShown, false);
});

Deno.test("output after a new size uses that size", async () => {
  using terminal = await HeadlessTerminal.open({ rows: 2, cols: 9 });
  const corner = encoder.encode("\x1b[99;99Hx");
  await terminal.draw([corner, { rows: 3, cols: 12 }, corner], { work: WORK });
  assertEquals(screenOf(terminal).lines.at(-1), `${" ".repeat(11)}x`);
  assertEquals(await shown("ab\r\n日\x1b[9b", { size: { rows: 1, cols: 1 } }), ["日"]);
});

Deno.test("error of the terminal library ends only the drawing", async () => {
  const { Terminal } = await import("@xterm/headless/lib-headless/xterm-headless.mjs");
  const parser = Object.getOwnPropertyDescriptor(Terminal.prototype, "parser");
  assert(parser?.get !== undefined);
  const { get } = parser;
  Object.defineProperty(Terminal.prototype, "parser", {
    configurable: true,
    get() {
      const own = get.call(this);
      own.registerCsiHandler({ final: "X" }, () => {
        throw new Error("the library is at its end");
      });
      return own;
    },
  });
  try {
    using terminal = await HeadlessTerminal.open(SIZE);
    await terminal.draw([encoder.encode("drawn\x1b[X"), encoder.encode("lost")], { work: WORK });
    await terminal.draw([encoder.encode("lost")], { work: WORK });
    assertEquals(screenOf(terminal).lines[0], "drawn");
  } finally {
    Object.defineProperty(Terminal.prototype, "parser", parser);
  }
});
