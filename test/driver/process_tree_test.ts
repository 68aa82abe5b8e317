import { assert, assertEquals } from "@std/assert";
import { kill } from "../../ffi/process.ts";
import { descendantsOf, isAlive } from "../../src/driver/process_tree.ts";

Deno.test("descendantsOf() finds children and grandchildren in other sessions, and isAlive() their end", async () => {
  const shell = new Deno.Command("sh", {
    args: ["-c", "setsid sh -c 'echo up; sleep 1000; true' & wait"],
    stdout: "piped",
  }).spawn();
  const reader = shell.stdout.getReader();
  await reader.read();
  const found = descendantsOf(shell.pid);
  assert(found.length >= 2, `found ${found.length}`);
  assert(found.every(isAlive));
  // The far end of the tree first; a parent may then end by itself.
  for (const { pid } of found.toReversed()) kill(pid, "SIGKILL");
  await shell.status;
  await reader.cancel();
  assertEquals(descendantsOf(shell.pid), []);
});

Deno.test("isAlive() does not take a later process with the same pid for the one that was meant", () => {
  assertEquals(isAlive({ pid: Deno.pid, startTime: "1" }), false);
});
