import { assert, assertEquals } from "@std/assert";
import xterm from "@xterm/headless";
import fc from "fast-check";
import { DRAWING_START, filterDrawing } from "../../../src/session/terminal/drawing_filter.ts";
import { HeadlessTerminal, screenOf } from "../../../src/session/terminal/headless_terminal.ts";
import { hostileOutput } from "./hostile_output.ts";

const encoder = new TextEncoder();
const SIZE = { rows: 50, cols: 220 };

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

/** The largest number that each sequence can use on a terminal of this size. */
function limitOf(final: string, { rows, cols }: { readonly rows: number; readonly cols: number }) {
  if (final === "b") return rows * cols;
  if (final === "m") return 255;
  if ("JK".includes(final)) return 2;
  if ("hl".includes(final)) return 2026;
  if ("Hf".includes(final)) return Math.max(rows, cols);
  return "ABEFdeLMSTr".includes(final) ? rows : cols;
}

Deno.test("no number is larger than the terminal can use, whatever it was", () => {
  const size = fc.record({
    rows: fc.integer({ min: 1, max: 1000 }),
    cols: fc.integer({ min: 1, max: 1000 }),
  });
  // deno-lint-ignore no-control-regex
  const sequence = /\x1b(?:\[(\??[\d;:]*)([@-~])|[78DEM])/gu;
  fc.assert(
    fc.property(hostileOutput, size, fc.boolean(), (output, size, otherScreen) => {
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
    { numRuns: 400 },
  );
});

Deno.test("what is clamped still means the most there is", () => {
  assertEquals(filteredText("a\x1b[2147483647b"), "a\x1b[11000b");
  assertEquals(filteredText("\x1b[2147483647L\x1b[99999999999S"), "\x1b[50L\x1b[50S");
  assertEquals(filteredText("\x1b[9999;9999H\x1b[0;9999r"), "\x1b[50;220H\x1b[0;50r");
  assertEquals(filteredText("\x1b[8;9999;9999t\x1b]0;x\x07\x1bPq~\x1b\\\x1bc\x1b#8\x1b(0"), "");
  // What joins a cell is repeated with it.
  assertEquals(filteredText("e\u0301\x1b[99999b"), "e\u0301\x1b[5500b");
});

Deno.test("what passes, and its work, do not depend on how the output was cut", () => {
  const bytes = encoder.encode("日\u0301\x1b[2147483647b\x9b\x1b[?25;1049h\n\u0301\x1b[4hé");
  const whole = filtered([bytes]);
  assertEquals(filtered(Array.from(bytes, (byte) => Uint8Array.of(byte))), whole);
  fc.assert(fc.property(hostileOutput, fc.array(fc.nat()), (output, cuts) => {
    const bytes = encoder.encode(output);
    const at = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b)];
    const chunks = at.map((from, index) => bytes.subarray(from, at[index + 1] ?? bytes.length));
    assertEquals(filtered(chunks), filtered([bytes]));
  }));
});

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

Deno.test("a terminal shows what it would without the filter", async () => {
  const size = { rows: 6, cols: 11 };
  for (const parts of fc.sample(fc.array(drawn, { maxLength: 30 }), { numRuns: 600, seed: 1 })) {
    const output = parts.join("");
    const plain = new xterm.Terminal({ ...size, allowProposedApi: true, scrollback: 0 });
    await new Promise<void>((done) => plain.write(output, done));
    using terminal = await HeadlessTerminal.open(size);
    await terminal.draw([encoder.encode(output)], { work: Infinity });
    assertEquals(screenOf(terminal), screenOf(plain), JSON.stringify(output));
    plain.dispose();
  }
});
