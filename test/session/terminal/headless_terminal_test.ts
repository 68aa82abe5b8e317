import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { DRAWING_START, filterDrawing } from "../../../src/session/terminal/drawing_filter.ts";
import { HeadlessTerminal, screenOf } from "../../../src/session/terminal/headless_terminal.ts";
import { hostileOutput } from "./hostile_output.ts";

const encoder = new TextEncoder();
const SIZE = { rows: 50, cols: 220 };
const WORK = 20_000_000;
/** 50 ms, in units of 10 ns. */
const MOST_WORK_OF_ONE = 5_000_000;

async function shown(output: string, { work = WORK, size = SIZE } = {}) {
  using terminal = await HeadlessTerminal.open(size);
  await terminal.draw([encoder.encode(output)], { work });
  return screenOf(terminal).lines;
}

Deno.test("five hundred hostile outputs are drawn, and none of them is much work", async () => {
  using terminal = await HeadlessTerminal.open(SIZE);
  for (const output of fc.sample(hostileOutput, { numRuns: 500, seed: 20 })) {
    const bytes = encoder.encode(output);
    const { pieces } = filterDrawing(DRAWING_START, bytes, { size: SIZE, otherScreen: true });
    const work = pieces.reduce((sum, piece) => sum + piece.work, 0);
    assert(work < MOST_WORK_OF_ONE, JSON.stringify(output));
    await terminal.draw([bytes], { work: WORK });
    assertEquals(screenOf(terminal).lines.length, SIZE.rows);
  }
  // Whatever has been set by then, the terminal has not stopped to listen.
  await terminal.draw([encoder.encode("\x07\x1b\\\x1b[r\x1b[?6l\x1b[4l\x1b[H\x1b[2Jend")], {
    work: WORK,
  });
  assertEquals(screenOf(terminal).lines[0], "end");
});

Deno.test("a flood of what takes long is drawn as far as its end", async () => {
  const floods = [
    "\x1b[50S",
    "\x1b[50L",
    "\x1b[2J",
    "a\x1b[99999b",
    "\x1b[?47h\x1b[?47l",
    "\x1bc",
    "\n",
  ];
  for (const flood of floods) {
    const lines = await shown(`${flood.repeat(1e6 / flood.length)}\x1b[Hend`);
    assertEquals(lines[0]?.slice(0, 3), "end", JSON.stringify(flood));
  }
});

Deno.test("of too much output the last part is drawn, in the size that was set before it", async () => {
  const rows = Array.from({ length: 2000 }, (_, row) => `row ${row}`).join("\r\n");
  assertEquals((await shown(rows, { work: 50_000 })).at(-1), "row 1999");
  using terminal = await HeadlessTerminal.open({ rows: 2, cols: 9 });
  const size = { rows: 3, cols: 12 };
  await terminal.draw([encoder.encode("lost"), size, encoder.encode(`${rows}\x1b[?25l`)], {
    work: 50_000,
  });
  assertEquals(screenOf(terminal).lines, ["row 1997", "row 1998", "row 1999"]);
  assertEquals(terminal.isCursorShown, false);
});

Deno.test("a terminal of one cell draws too", async () => {
  assertEquals(await shown("ab\r\n日\x1b[9b", { size: { rows: 1, cols: 1 } }), ["日"]);
});

Deno.test("what the library throws on ends the drawing, and nothing else", async () => {
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
