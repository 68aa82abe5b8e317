import { assert, assertEquals, assertMatch } from "@std/assert";
import { default as xterm } from "@xterm/headless";
import fc from "fast-check";
import {
  filterForMirror,
  MIRROR_RESET,
  MIRROR_START,
} from "../../../src/conversation/terminal/mirror_filter.ts";
import { readRecording } from "../control/recording.ts";

const encoder = new TextEncoder();

function filtered(chunks: readonly Uint8Array[]): string {
  let state = MIRROR_START;
  let all = "";
  for (const chunk of chunks) {
    const { state: next, text } = filterForMirror(state, chunk);
    state = next;
    all += text;
  }
  return all;
}

/** Everything that may pass, spelled independently of the filter. */
const ALLOWED = new RegExp(
  [
    "[\\b\\t\\n\\r]",
    "[\\x20-\\x7e]",
    // Beyond ASCII: nothing that is a control, or turns the direction of text.
    "[^\\x00-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff]",
    "\\x1b[78DEM]",
    "\\x1b\\[[\\d;:]*m",
    "\\x1b\\[[\\d;]*[@A-IK-MPSTXZ`abdefr]",
    "\\x1b\\[[012]?J",
    "\\x1b\\[[su]",
    "\\x1b\\[4[hl]",
    "\\x1b\\[\\?(?:6|7|25|2026)[hl]",
  ].map((each) => `(?:${each})`).join("|").replace(/^(.*)$/u, "^(?:$1)*$"),
  "u",
);

const WANTING = [
  // Questions, modes and keyboard protocols.
  "\x1b[c \x1b[>c \x1b[=c \x1b[6n \x1b[?6n \x1b[5n \x1b[>0q \x1b[?u \x1b[>1u \x1b[<u \x1b[=1;1u " +
  "\x1b[>4;2m \x1b[?4m \x1b[?2004$p \x1b[18t \x1b[21t \x1b[?1000h \x1b[?1002;1006h \x1b[?1003;25h " +
  "\x1b[?1004h \x1b[?9h \x1b[?2004h \x1b[?2031h \x1b[?1h \x1b[20h \x1b[?1049h \x1b[?66h \x1b[5i",
  // Strings, other escape sequences and controls.
  "\x1b]10;?\x07 \x1b]11;?\x1b\\ \x1b]4;1;?\x07 \x1b]52;c;YQ==\x07 \x1b]52;c;?\x07 \x1b]0;title\x07 " +
  "\x1b]9;note\x07 \x1b]7501;?\x07 \x1bP$qm\x1b\\ \x1bP+q544e\x1b\\ \x1b_Gi=1;AAAA\x1b\\ \x1b^pm\x1b\\ " +
  "\x1bXsos\x1b\\ \x1b= \x1b> \x1bc \x1bZ \x1b(0 \x1b#8 \x1b[!p \x1b[1;2;3;4;5T \x1b[>1T \x1b[3J \x07 " +
  "\x05 \x0e \x9b6n \u009b6n \u009d52;c;?\u009c \u202e \u2066 \x18 \x1a",
  // Pieces of sequences.
  "\x1b [ ? ; 6 n h \x1b\x1b[ \x00 \x7f",
].join(" ").split(" ");
/** Output that wants something of a terminal, whole and in pieces. */
const hostile = fc.oneof(
  fc.constantFrom(...WANTING, "\x1b[2 q").map((text) => encoder.encode(text)),
  fc.constantFrom("hi", "é", "日本", "👩‍💻", "\r\n", "\x1b[31m", "\x1b[2;5H", "\x1b[K", "\x1b[?25l")
    .map((text) => encoder.encode(text)),
  fc.uint8Array({ maxLength: 6 }),
);
const output = fc.array(hostile, { maxLength: 40 })
  .map((parts) => Uint8Array.from(parts.flatMap((part) => [...part])));

Deno.test("mirror passes only what draws", () => {
  fc.assert(fc.property(output, (bytes) => assertMatch(filtered([bytes]), ALLOWED)), {
    numRuns: 150,
  });
});

Deno.test("mirror passes the same however the output is cut", () => {
  fc.assert(
    fc.property(output, fc.array(fc.nat(200), { maxLength: 8 }), (bytes, cuts) => {
      const at = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b)];
      const chunks = at.map((from, index) => bytes.subarray(from, at[index + 1] ?? bytes.length));
      assertEquals(filtered(chunks), filtered([bytes]));
      assertEquals(filtered(Array.from(bytes, (byte) => Uint8Array.of(byte))), filtered([bytes]));
    }),
    { numRuns: 50 },
  );
});

Deno.test("mirror passes drawing and drops or replaces the rest", () => {
  const drawing =
    "\x1b[38;5;174m✻ \x1b[1;4:3mhi\x1b[m\r\n\x1b[2;5H\x1b[K\x1b[2J\x1b[3A\x1b7\x1b[1;9r\x1b8" +
    "\x1b[?25l\x1b[?7l\x1b[?2026h日本 👩‍💻\x1b[12G\x1b[4P\x1b[s\x1b[u\x1bM\t\b";
  const rows = [
    [drawing, drawing],
    // Of several modes in one sequence only the harmless pass.
    ["\x1b[?1000;25;2004h", "\x1b[?25h"],
    // A child that changes to the other screen gets an empty one.
    ["a\x1b[?1049hb\x1b[?1049lc", "a\x1b[2Jb\x1b[2Jc"],
    ["a\u009b6nb\u0085c", "a6nbc"],
  ] as const;
  for (const [given, passed] of rows) assertEquals(filtered([encoder.encode(given)]), passed);
  assertEquals(filtered([Uint8Array.of(0x61, 0xff, 0x9b, 0x63)]), "a\ufffd\ufffdc");
});

Deno.test("mirror leaves out the notice of our own debug log", () => {
  const words = "Debug\x1b[9Gmode\x1b[14Genabled\x1b[22G·\x1b[24Glogging\x1b[32Gto";
  const begin = `\x1b[2m▎\x1b[3G\x1b[22m\x1b[38;5;246m${words}`;
  const log = "/tmp/claude-print-0/17-92-ea07b2fd/own/debug.log";
  const rows = [
    [`${begin}\x1b[35G${log}\x1b[39m\r\r\n`, "\x1b[2m\x1b[22m\x1b[38;5;246m\x1b[39m\r\r\n"],
    [`${begin}\r\r\n▎ ${log}\r\n`, "\x1b[2m\x1b[22m\x1b[38;5;246m\r\r\n\r\n"],
  ] as const;
  for (const [given, passed] of rows) assertEquals(filtered([encoder.encode(given)]), passed);
  const other = `${begin}\x1b[35G/home/user/debug.log`;
  assertEquals(filtered([encoder.encode(other)]), other);
});

/** The screen of a terminal after some output, and everything that output can change or ask for. */
async function rendered(chunks: readonly (Uint8Array | string)[]) {
  const terminal = new xterm.Terminal({
    rows: 50,
    cols: 220,
    allowProposedApi: true,
    scrollback: 0,
  });
  const events: string[] = [];
  terminal.onData((data) => events.push(data));
  terminal.onBinary((data) => events.push(data));
  terminal.onTitleChange((title) => events.push(`title ${title}`));
  terminal.onBell(() => events.push("bell"));
  for (const chunk of chunks) terminal.write(chunk);
  await new Promise<void>((done) => terminal.write("", done));
  const { active } = terminal.buffer;
  const lines = Array.from(
    { length: 50 },
    (_, row) => active.getLine(row)?.translateToString(true),
  );
  const cells = Array.from({ length: 50 * 220 }, (_, at) => {
    const cell = active.getLine(Math.floor(at / 220))?.getCell(at % 220);
    // The colour of a blank is not seen.
    const text = cell?.getChars().trim() ? `${cell.getFgColor()},${cell.isBold()}` : "";
    return `${text},${cell?.getBgColor()},${cell?.isInverse()}`;
  });
  const modes = { ...terminal.modes };
  const cursor = [active.cursorX, active.cursorY];
  terminal.dispose();
  return { screen: { lines, cells, cursor }, events, modes };
}

/** Replaces each notice of a debug log on a screen by an empty row. */
function withoutNotices({ lines, cells, cursor }: Awaited<ReturnType<typeof rendered>>["screen"]) {
  const isNotice = lines.map((line) => line?.startsWith("▎ Debug mode"));
  return {
    lines: lines.map((line, row) => isNotice[row] ? "" : line),
    cells: cells.map((cell, at) => isNotice[Math.floor(at / 220)] ? ",-1,0" : cell),
    cursor,
  };
}

for (
  const name of ["2.1.285/paste", "2.1.332/answer", "2.1.332/dialogs-at-start"]
) {
  Deno.test(`recording's mirror shows the same screen, asks nothing: ${name}`, async () => {
    const chunks = readRecording(name).flatMap((input) =>
      input.type === "terminal" ? [input.bytes] : []
    );
    // Also at half, before the child has reset its modes.
    for (const part of [chunks, chunks.slice(0, Math.ceil(chunks.length / 2))]) {
      const original = await rendered(part);
      const mirror = await rendered([filtered(part)]);
      assertEquals(mirror.screen, withoutNotices(original.screen));
      assertEquals(mirror.events, []);
      assert(original.events.length > 0, "the recording asks nothing");
    }
  });
}

Deno.test("reset mirror leaves the terminal unchanged", async () => {
  const untouched = (await rendered([])).modes;
  for (let round = 0; round < 2; round++) {
    const outputs = fc.sample(output, 25);
    const { events, modes } = await rendered(
      outputs.flatMap((bytes) => [filtered([bytes]), MIRROR_RESET]),
    );
    assertEquals(events, []);
    assertEquals(modes, untouched);
  }
});
