import { assert, assertEquals, assertThrows } from "@std/assert";
import { cString } from "../../../ffi/c_string.ts";
import { closeFd, fdStat, readFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo, Pipe } from "../../../ffi/descriptors/pipe.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { libc } from "../../../ffi/libc.ts";
import { openPty } from "../../../ffi/terminal/pty.ts";
import { hungUp } from "./hung_up.ts";
import { PtyChild } from "../terminal/pty_child.ts";

Deno.test("readFd says again when there is nothing, and the end when the last slave is closed", async () => {
  using pty = openPty({ rows: 24, cols: 80 });
  const buffer = new Uint8Array(64);
  const slave = Deno.openSync(pty.path, { write: true });
  assertEquals(readFd(pty.fd, buffer), "again");
  slave.writeSync(new TextEncoder().encode("last"));
  slave.close();
  assertEquals(readFd(pty.fd, buffer), 4);
  assertEquals(new TextDecoder().decode(buffer.subarray(0, 4)), "last");
  await hungUp(pty.fd);
  assertEquals(readFd(pty.fd, buffer), "end");
});

Deno.test("readFd takes no more than its buffer holds and refuses an empty one", () => {
  using pty = openPty({ rows: 24, cols: 80 });
  using slave = Deno.openSync(pty.path, { write: true });
  slave.writeSync(new TextEncoder().encode("abc"));
  const buffer = new Uint8Array(8);
  assertEquals(readFd(pty.fd, buffer.subarray(2, 4)), 2);
  assertEquals([...buffer], [0, 0, 97, 98, 0, 0, 0, 0]);
  assertThrows(() => readFd(pty.fd, new Uint8Array()), RangeError, "the buffer is empty");
});

Deno.test("writeFd says how much was taken, then again", () => {
  const folder = Deno.makeTempDirSync();
  makeFifo(`${folder}/fifo`);
  const fd = openFifo(`${folder}/fifo`);
  try {
    assertEquals(writeFd(fd, new Uint8Array()), 0);
    const more = 1 << 20;
    const taken = writeFd(fd, new Uint8Array(more));
    assert(typeof taken === "number" && taken > 0 && taken < more);
    assertEquals(writeFd(fd, Uint8Array.of(1)), "again");
  } finally {
    closeFd(fd);
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("closeFd, readFd and writeFd of an fd that is not open throw EBADF", () => {
  for (
    const call of [
      () => closeFd(-1),
      () => readFd(-1, new Uint8Array(1)),
      () => writeFd(-1, new Uint8Array(1)),
    ]
  ) assertEquals(assertThrows(call, LibcError).code, "EBADF");
});

Deno.test("drainFd carries 20 MB from a child, complete and in order", async () => {
  const lines = 2_600_000;
  await using child = new PtyChild("/bin/sh", {
    args: ["-c", `stty -opost; seq 1000000 ${1_000_000 + lines - 1}`],
  });
  const { bytes, status } = await child.end();
  assertEquals(status, { kind: "exited", code: 0 });
  const expected = Array.from({ length: lines }, (_, index) => `${1_000_000 + index}\n`).join("");
  assertEquals(bytes.length, expected.length);
  assertEquals(new TextDecoder().decode(bytes) === expected, true);
});

Deno.test("fdStat tells what an fd is open on, and names it", () => {
  using pty = openPty({ rows: 24, cols: 80 });
  assertEquals(fdStat(pty.fd).kind, "terminal");
  using pipe = new Pipe();
  using other = new Pipe();
  assertEquals(fdStat(pipe.readFd).kind, "pipe");
  assertEquals(fdStat(pipe.readFd).id, fdStat(pipe.writeFd).id);
  assert(fdStat(pipe.readFd).id !== fdStat(other.readFd).id);
  for (
    const [path, kind] of [
      ["/dev/null", "null device"],
      ["/dev/zero", "other"],
      ["/", "other"],
      [import.meta.filename ?? "", "file"],
    ] as const
  ) {
    const fd = libc().open(cString(path), 0);
    assertEquals(fdStat(fd).kind, kind, path);
    closeFd(fd);
  }
  // The number of an fd that was closed may already be somebody else's.
  const error = assertThrows(() => fdStat(-1), LibcError);
  assertEquals([error.call, error.code], ["fstat", "EBADF"]);
});
