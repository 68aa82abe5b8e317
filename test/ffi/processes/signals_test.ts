import { assertEquals } from "@std/assert";
import { signalName, SIGNALS } from "../../../ffi/processes/signals.ts";
import { runScript } from "../terminal/pty_child.ts";

Deno.test("SIGNALS has the shell's own numbers", async () => {
  const names = Object.keys(SIGNALS).map((name) => name.slice("SIG".length));
  const numbers = Object.values(SIGNALS).join(" ");
  const { text } = await runScript(`for number in ${numbers}; do kill -l $number; done`);
  // Dash has no name for 16.
  const others = new Map([["POLL", "IO"], ["16", "STKFLT"]]);
  const known = text.trim().split("\r\n").map((name) => others.get(name) ?? name);
  assertEquals(known, names);
});

Deno.test("signalName finds the name, or shows the number", () => {
  assertEquals(signalName(SIGNALS.SIGTERM), "SIGTERM");
  assertEquals(signalName(40), "signal 40");
});
