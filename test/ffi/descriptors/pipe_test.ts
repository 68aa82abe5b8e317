import { assert, assertEquals, assertThrows } from "@std/assert";
import { closeFd, drainFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo, Pipe } from "../../../ffi/descriptors/pipe.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { killAndReap, openPidfd, waitFor } from "../../../ffi/processes/process.ts";
import { spawn } from "../../../ffi/processes/spawn.ts";
import { runScript } from "../terminal/pty_child.ts";
import { MISSING } from "../../nowhere.ts";

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

Deno.test("makeFifo makes a FIFO for its owner only, and refuses a path that is taken", async () => {
  const folder = await Deno.makeTempDir({ prefix: "fifo é " });
  try {
    const path = `${folder}/events`;
    makeFifo(path);
    const { isFifo, mode } = await Deno.stat(path);
    assert(isFifo);
    assertEquals((mode ?? 0) & 0o777, 0o600);
    const error = assertThrows(() => makeFifo(path), LibcError);
    assertEquals([error.call, error.code, error.path], ["mkfifo", "EEXIST", path]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("openFifo of a path that is not there throws ENOENT", () => {
  const error = assertThrows(() => openFifo(MISSING), LibcError);
  assertEquals([error.code, error.path], ["ENOENT", MISSING]);
});

Deno.test("openFifo brings the lines of one writer after the other and never hangs up", async () => {
  const folder = await Deno.makeTempDir();
  makeFifo(`${folder}/events`);
  const fd = openFifo(`${folder}/events`);
  using poller = new Poller();
  try {
    const buffer = new Uint8Array(65536);
    let text = "";
    const onBytes = (bytes: Uint8Array) => text += new TextDecoder().decode(bytes);
    for (const line of ["one", "two", "three"]) {
      const { status } = await runScript(`echo ${line} >events`, { cwd: folder });
      assertEquals(status, { kind: "exited", code: 0 });
      assertEquals(await poller.wait([{ fd, read: true }], -1), [
        { fd, readable: true, writable: false, hangup: false },
      ]);
      assertEquals(drainFd(fd, { buffer, onBytes }), "again");
      assertEquals(await poller.wait([{ fd, read: true }], 0), []);
    }
    assertEquals(text, "one\ntwo\nthree\n");
  } finally {
    closeFd(fd);
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("drainFd stops after maxReads and says that there is more", async () => {
  const folder = await Deno.makeTempDir();
  makeFifo(`${folder}/events`);
  const fd = openFifo(`${folder}/events`);
  try {
    await runScript("printf 12345 >events", { cwd: folder });
    const seen: number[] = [];
    const options = {
      buffer: new Uint8Array(2),
      onBytes: (bytes: Uint8Array) => void seen.push(...bytes),
      maxReads: 2,
    };
    assertEquals(drainFd(fd, options), "more");
    assertEquals(seen.length, 4);
    assertEquals(drainFd(fd, options), "again");
    assertEquals(String.fromCharCode(...seen), "12345");
  } finally {
    closeFd(fd);
    await Deno.remove(folder, { recursive: true });
  }
});
