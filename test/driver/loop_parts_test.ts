import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { writeFd } from "../../ffi/descriptors/fd.ts";
import { Pipe } from "../../ffi/descriptors/pipe.ts";
import { Deadlines } from "../../src/driver/performer.ts";
import { renderScreen } from "../../src/conversation/terminal/headless_terminal.ts";
import { StreamCaller } from "../../src/driver/inputs/callers.ts";
import { TerminalRing } from "../../src/driver/child_terminal.ts";
import { StopSignals } from "../../src/driver/stop_signals.ts";

Deno.test("a due deadline is taken, and only idle is postponed", () => {
  const deadlines = new Deadlines();
  assertEquals(deadlines.next, Infinity);
  deadlines.set("timeout", 100);
  deadlines.set("idle", 50);
  deadlines.set("look", 20);
  deadlines.set("look", undefined);
  assertEquals(deadlines.next, 50);
  deadlines.postpone(10);
  assertEquals([deadlines.next, [...deadlines.take(() => 59)]], [60, []]);
  deadlines.postpone(50);
  assertEquals([...deadlines.take(() => 110)], ["timeout", "idle"]);
  assertEquals([...deadlines.take(() => 110)], []);
});

Deno.test("a deadline that was changed meanwhile is not taken", () => {
  const deadlines = new Deadlines();
  for (const name of ["idle", "look", "drain"] as const) deadlines.set(name, 1);
  const taken: string[] = [];
  for (const name of deadlines.take(() => 1)) {
    taken.push(name);
    deadlines.set("look", undefined);
    deadlines.set("drain", 2);
  }
  assertEquals([taken, deadlines.next], [["idle"], 2]);
});

Deno.test("StreamCaller refuses a line that is too long", () => {
  const longest = 20;
  const read = (...written: readonly string[]) => {
    using pipe = new Pipe();
    const caller = new StreamCaller(pipe.readFd, { longest });
    const inputs = written.flatMap((text) => {
      writeFd(pipe.writeFd, new TextEncoder().encode(text));
      return caller.take([{ fd: pipe.readFd, readable: true, writable: false, hangup: false }]);
    });
    return { inputs, interests: caller.interests.length };
  };
  const reason = `Cannot read a line of stdin: it is longer than ${longest} bytes`;
  assertEquals(read("x".repeat(longest), "x"), {
    inputs: [{ type: "unreadable", reason }],
    interests: 0,
  });
  assertEquals(read(`${" ".repeat(longest)}\n`, "\n".repeat(longest), " ".repeat(longest)), {
    inputs: [],
    interests: 1,
  });
});

const encoder = new TextEncoder();

Deno.test("renderScreen() shows rows, cursor and characters in pieces", async () => {
  const screen = await renderScreen(
    [encoder.encode("one\r\n\x1b[3;5Hth"), encoder.encode("ré \x1b[31me\x1b[0m")],
    { rows: 4, cols: 20 },
  );
  assertEquals(screen.lines, ["one", "", "    thré e", ""]);
  assertEquals(screen.cursor, { row: 3, col: 11 });
  const text = "│ ❯ é… 日本 🙂 │";
  const bytes = Array.from(encoder.encode(text), (byte) => Uint8Array.of(byte));
  assertEquals((await renderScreen(bytes, { rows: 2, cols: 40 })).lines[0], text);
});

Deno.test("renderScreen() shows the bottom of scrolled text", async () => {
  const text = Array.from({ length: 30 }, (_, row) => `row ${row}`).join("\r\n");
  const screen = await renderScreen([encoder.encode(text)], { rows: 3, cols: 20 });
  assertEquals(screen.lines, ["row 27", "row 28", "row 29"]);
});

Deno.test("TerminalRing keeps copies of the last bytes", () => {
  const capacity = 512 * 1024;
  const length = fc.integer({ min: 0, max: capacity + 10 });
  fc.assert(
    fc.property(fc.array(length, { minLength: 1, maxLength: 4 }), (lengths) => {
      const ring = new TerminalRing();
      const all = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0))
        .map((_, index) => index * 31 + (index >> 8));
      let from = 0;
      for (const length of lengths) {
        const bytes = all.slice(from, from + length);
        ring.push(bytes);
        bytes.fill(9);
        from += length;
      }
      const [first = new Uint8Array(), second = new Uint8Array()] = ring.chunks();
      const kept = new Uint8Array(first.length + second.length);
      kept.set(first);
      kept.set(second, first.length);
      assertEquals(kept.toHex() === all.subarray(Math.max(0, all.length - capacity)).toHex(), true);
    }),
    { numRuns: 10 },
  );
});

Deno.test("StopSignals reports a repeated limit of the kernel once", () => {
  using signals = new StopSignals({ listen: false });
  for (const name of ["SIGXFSZ", "SIGINT", "SIGXFSZ", "SIGINT"] as const) signals.raise(name);
  assertEquals(signals.take(), ["SIGXFSZ", "SIGINT", "SIGINT"]);
  signals.raise("SIGXFSZ");
  assertEquals(signals.take(), []);
});
