import { assertEquals } from "@std/assert";
import { clockInput, RUN_CLOCK_START } from "../../src/doctor/run_clock.ts";
import type { Input } from "../../src/session/input.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

const times = (inputs: readonly Input[]) => inputs.reduce(clockInput, RUN_CLOCK_START).times;

Deno.test("clockInput() takes the first of each step", () => {
  assertEquals(
    times([
      { at: 1, type: "spawned" },
      { at: 10, type: "terminal", bytes: bytes("\x1b[c") },
      { at: 20, type: "terminal", bytes: bytes("\x1b[?25l\x1b[?2004h>") },
      { at: 30, type: "terminal", bytes: bytes("\x1b[?2004l\x1b[?2004h") },
      { at: 35, type: "hook", event: "SessionStart", payload: {} },
      { at: 40, type: "hook", event: "Stop", payload: {} },
      { at: 50, type: "hook", event: "Stop", payload: {} },
      { at: 60, type: "exit", exit: { kind: "exited", code: 0 } },
    ]),
    { firstByteMs: 10, readyMs: 20, stopMs: 40, exitMs: 60 },
  );
});

Deno.test("clockInput() sees a sequence that comes in two parts", () => {
  assertEquals(
    times([
      { at: 1, type: "terminal", bytes: bytes("\x1b[?20") },
      { at: 2, type: "terminal", bytes: bytes("04h") },
    ]),
    { firstByteMs: 1, readyMs: 2 },
  );
});

Deno.test("clockInput() does not make up what did not happen", () => {
  assertEquals(times([{ at: 1, type: "terminal", bytes: bytes("\x1b[?2004l") }]), {
    firstByteMs: 1,
  });
  assertEquals(times([]), {});
});
