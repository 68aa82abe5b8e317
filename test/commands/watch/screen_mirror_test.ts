import { assertEquals } from "@std/assert";
import { ScreenMirror } from "../../../src/commands/watch/screen_mirror.ts";

const SPAWNED = { at: 0, type: "spawned" } as const;
const ENTER = "\x1b[?1049h\x1b[0m\x1b[2J\x1b[H";
const LEAVE = "\x18\x1b[?2026l\x1b[?6l\x1b[?7h\x1b[4l\x1b[r\x1b[0m\x1b[?25h\x1b[?1049l";

/** A mirror on a terminal that takes everything, or nothing. */
function mirrorOn(terminal: { takes: boolean }) {
  let shown = "";
  let pending = "";
  const steps: string[] = [];
  const flush = () => {
    if (!terminal.takes) return;
    shown += pending;
    pending = "";
  };
  const mirror = new ScreenMirror({
    output: {
      get pending() {
        return pending.length;
      },
      write: (text) => {
        pending += text;
        flush();
      },
      flush,
      drop: () => pending = "",
    },
    begin: () => {
      steps.push("begin");
      return { [Symbol.dispose]: () => void steps.push("end") };
    },
  });
  const draw = (text: string) =>
    mirror.observe({ at: 0, type: "terminal", bytes: new TextEncoder().encode(text) });
  return { mirror, draw, steps, shown: () => shown };
}

Deno.test("a mirror shows what the child draws on the other screen, and gives the terminal back", () => {
  const { mirror, draw, steps, shown } = mirrorOn({ takes: true });
  mirror.observe(SPAWNED);
  draw("\x1b[31mhi\x1b[c");
  draw("\x1b[?10");
  draw("00h there");
  mirror.observe({ at: 0, type: "status", status: "busy" });
  mirror[Symbol.dispose]();
  mirror[Symbol.dispose]();
  assertEquals(shown(), `${ENTER}\x1b[31mhi there${LEAVE}`);
  assertEquals(steps, ["begin", "end"]);
});

Deno.test("a mirror of a run that was never started does not touch the terminal", () => {
  const { mirror, steps, shown } = mirrorOn({ takes: true });
  mirror[Symbol.dispose]();
  assertEquals([shown(), steps], ["", []]);
});

Deno.test("a terminal far behind is cleared and goes on with what comes after", () => {
  const terminal = { takes: true };
  const { mirror, draw, shown } = mirrorOn(terminal);
  mirror.observe(SPAWNED);
  terminal.takes = false;
  for (let at = 0; at < 5; at++) draw("flood ".repeat(200_000));
  terminal.takes = true;
  draw("lost");
  mirror[Symbol.dispose]();
  assertEquals(shown(), `${ENTER}${LEAVE}`);
});

Deno.test("what a terminal owes is given to it as soon as it takes it", async () => {
  const terminal = { takes: false };
  const { mirror, draw, shown } = mirrorOn(terminal);
  mirror.observe(SPAWNED);
  draw("hello");
  terminal.takes = true;
  while (shown() === "") await new Promise((done) => setTimeout(done, 1));
  assertEquals(shown(), `${ENTER}hello`);
  mirror[Symbol.dispose]();
});
