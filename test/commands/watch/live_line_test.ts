import { assertEquals } from "@std/assert";
import { LiveLine } from "../../../src/commands/watch/live_line.ts";

/** A live line on a terminal that keeps what it is given, and whose clock and size the test moves. */
function liveLine() {
  const world = { elapsedMs: 0, columns: 80, isOurs: true, pending: 0, flushes: 0 };
  const written: string[] = [];
  const line = new LiveLine({
    output: {
      get pending() {
        return world.pending;
      },
      write: (text) => written.push(text),
      flush: () => world.flushes++,
    },
    elapsedMs: () => world.elapsedMs,
    columns: () => world.columns,
    isOurs: () => world.isOurs,
    color: false,
    cwd: "/",
  });
  return { line, world, take: () => written.splice(0) };
}

Deno.test("a live line is drawn in place, only when it has changed, and erased at the end", () => {
  const { line, world, take } = liveLine();
  line.draw();
  world.elapsedMs = 900;
  line.draw();
  assertEquals(take(), ["\rstarting · 0 s\x1b[K\r"]);
  line.observe({ at: 0, type: "status", status: "busy" });
  line.draw();
  assertEquals(take(), ["\rworking · 0 s\x1b[K\r"]);
  line[Symbol.dispose]();
  assertEquals(take(), ["\r\x1b[K"]);
});

Deno.test("a live line that was never drawn leaves nothing to erase, nor does one erased already", () => {
  const { line, take } = liveLine();
  line[Symbol.dispose]();
  line[Symbol.dispose]();
  assertEquals(take(), []);
});

Deno.test("a live line fits a terminal that has become narrower", () => {
  const { line, world, take } = liveLine();
  line.draw();
  world.columns = 10;
  line.draw();
  line[Symbol.dispose]();
  assertEquals(take().slice(1), ["\rstarting…\x1b[K\r", "\r\x1b[K"]);
});

Deno.test("a live line stays away while a shell shows its prompt there, and does not erase that", () => {
  const { line, world, take } = liveLine();
  line.draw();
  take();
  world.isOurs = false;
  world.elapsedMs = 5000;
  line.draw();
  assertEquals(take(), []);
  world.isOurs = true;
  line.draw();
  assertEquals(take(), ["\rstarting · 5 s\x1b[K\r"]);
  world.isOurs = false;
  line[Symbol.dispose]();
  assertEquals(take(), []);
});

Deno.test("a terminal that takes nothing gets nothing more", () => {
  const { line, world, take } = liveLine();
  world.pending = 7;
  line.draw();
  assertEquals([take(), world.flushes], [[], 1]);
  world.pending = 0;
  line.draw();
  assertEquals(take().length, 1);
  line[Symbol.dispose]();
});
