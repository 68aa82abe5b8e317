import { assert, assertEquals, assertThrows } from "@std/assert";
import { LibcError } from "../../../../ffi/errno.ts";
import { processTraits } from "../../../../src/server/delegation/delegation_channel.ts";

/** The traits of a shell that has done something, and then waits for its stdin to end. */
async function after(script: string): Promise<string> {
  const child = new Deno.Command("sh", {
    args: ["-c", `${script}\necho; exec cat`],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  const traits = processTraits(child.pid);
  await child.stdin.close();
  await reader.cancel();
  await child.status;
  return traits;
}

Deno.test("a child process inherits equal traits", async () => {
  const own = processTraits("self");
  assertEquals(await after(":"), own);
  for (const change of ["umask 0123", "ulimit -f 1000", "ulimit -Sn 64", "ulimit -v 90000000"]) {
    assert(await after(change) !== own, change);
  }
  // What binds nothing does not matter.
  assertEquals(await after("ulimit -c 0"), own);
  for (const part of ["Umask: 0", "Uid: ", "Max open files: ", "ns/mnt: mnt:[", "nice: "]) {
    assert(own.includes(part), own);
  }
});

Deno.test("a gone process has no traits", () => {
  assertThrows(() => processTraits(0x3fffffff), LibcError);
});
