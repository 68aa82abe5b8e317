import { assert, assertEquals, assertThrows } from "@std/assert";
import { LibcError } from "../../../ffi/errno.ts";
import { readProcFile, readProcLink, readProcPids } from "../../../ffi/processes/proc.ts";

Deno.test("readProcFile reads what Deno reads, of any length", async () => {
  assertEquals(readProcFile("/proc/self/cmdline"), Deno.readFileSync("/proc/self/cmdline"));
  const long = "x".repeat(100_000);
  const child = new Deno.Command("/bin/cat", {
    clearEnv: true,
    env: { A: long, B: "end" },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const stdin = child.stdin.getWriter();
  const stdout = child.stdout.getReader();
  try {
    // Only a program that has begun has its environment.
    await stdin.write(new Uint8Array(1));
    await stdout.read();
    const text = new TextDecoder().decode(readProcFile(`/proc/${child.pid}/environ`));
    const variables = text.split("\0").toSorted().map((each) => each.replace(long, "long"));
    assertEquals(variables, ["", "A=long", "B=end"]);
  } finally {
    await stdin.close();
    await stdout.cancel();
    await child.status;
  }
});

Deno.test("readProcFile throws ENOENT for a process that is gone", () => {
  const error = assertThrows(() => readProcFile("/proc/0/stat"), LibcError);
  assertEquals([error.code, error.path], ["ENOENT", "/proc/0/stat"]);
});

Deno.test("readProcLink names a namespace", () => {
  assertEquals(readProcLink("/proc/self/ns/pid"), Deno.readLinkSync("/proc/self/ns/pid"));
  const error = assertThrows(() => readProcLink("/proc/self/stat"), LibcError);
  assertEquals([error.code, error.path], ["EINVAL", "/proc/self/stat"]);
});

Deno.test("readProcPids lists the processes, this one and its children among them", async () => {
  const children = Array.from(
    { length: 20 },
    () => new Deno.Command("/bin/sleep", { args: ["1000"] }).spawn(),
  );
  try {
    const pids = readProcPids();
    for (const pid of [Deno.pid, ...children.map(({ pid }) => pid)]) assert(pids.includes(pid));
    assertEquals(pids.length, new Set(pids).size);
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await Promise.all(children.map(({ status }) => status));
  }
});
