import { assert, assertEquals, assertThrows } from "@std/assert";
import { LibcError } from "../../ffi/errno.ts";
import { closeFd, writeFd } from "../../ffi/fd.ts";
import { Pipe } from "../../ffi/pipe.ts";
import { Poller } from "../../ffi/poll.ts";
import { killAndReap, openPidfd, waitFor } from "../../ffi/process.ts";
import { spawn } from "../../ffi/spawn.ts";

Deno.test("Pipe has two ends that no child inherits, each closed once", () => {
  using pipe = new Pipe();
  const oCloexec = 0o2000000;
  for (const fd of [pipe.readFd, pipe.writeFd]) {
    const info = Deno.readTextFileSync(`/proc/self/fdinfo/${fd}`);
    assert(parseInt(/flags:\s*(\d+)/u.exec(info)?.[1] ?? "", 8) & oCloexec);
  }
  pipe.closeReadEnd();
  pipe.closeReadEnd();
});

Deno.test("spawn without a pty reads a pipe until its other end is closed, and writes to nowhere", async () => {
  using pipe = new Pipe();
  using poller = new Poller();
  const script = 'read -r line; echo gone; echo gone >&2; read -r more || exit "$line"';
  const pid = spawn("/bin/sh", { args: ["-c", script], env: {}, cwd: "/", stdin: pipe.readFd });
  const pidfd = openPidfd(pid);
  try {
    assertEquals(Deno.readLinkSync(`/proc/${pid}/fd/2`), "/dev/null");
    writeFd(pipe.writeFd, new TextEncoder().encode("7\n"));
    pipe[Symbol.dispose]();
    await poller.wait([{ fd: pidfd, read: true }], -1);
    assertEquals(waitFor(pid), { kind: "exited", code: 7 });
  } finally {
    closeFd(pidfd);
  }
});

Deno.test("killAndReap leaves no process, not even one that waits to be reaped", () => {
  using pipe = new Pipe();
  const script = "trap '' TERM; read -r line";
  const pid = spawn("/bin/sh", { args: ["-c", script], env: {}, cwd: "/", stdin: pipe.readFd });
  killAndReap(pid);
  assertThrows(() => waitFor(pid), LibcError, "ECHILD");
});
