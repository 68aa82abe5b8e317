import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { cString } from "../../ffi/c_string.ts";
import { closeFd, drainFd, fdStat, readFd, sendFd, writeFd } from "../../ffi/descriptors/fd.ts";
import { type Received, receiveFds, sendFds } from "../../ffi/descriptors/passed_fds.ts";
import { makeFifo, openFifo, Pipe } from "../../ffi/descriptors/pipe.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { readToEnd } from "../../ffi/descriptors/read_to_end.ts";
import {
  acceptUnix,
  connectUnix,
  isUnixListener,
  listenUnix,
  MAX_SOCKET_PATH,
  peerOf,
  setNonblocking,
} from "../../ffi/descriptors/unix_socket.ts";
import { LibcError } from "../../ffi/errno.ts";
import { libc } from "../../ffi/libc.ts";
import {
  filledPipe,
  isInherited,
  readInheritedLine,
  replaceWithPipe,
} from "../../ffi/processes/inherited_fd.ts";
import { readProcFile, readProcLink } from "../../ffi/processes/proc.ts";
import { openPty } from "../../ffi/terminal/pty.ts";
import { MISSING } from "../nowhere.ts";

/**
 * Waits until an fd without unread data has lost its other side. A program that another test starts at that moment holds
 * the other side, too, until its exec(2).
 */
async function hungUp(fd: number): Promise<void> {
  using poller = new Poller();
  await poller.wait([{ fd, read: true }], -1);
}

/** The open(2) flags of an fd. */
const flagsOf = (fd: number) =>
  parseInt(/flags:\s*(\d+)/u.exec(Deno.readTextFileSync(`/proc/self/fdinfo/${fd}`))?.[1] ?? "", 8);
const CLOEXEC = 0o2000000;

/** The path of a new FIFO; its folder is removed with the stack. */
function fifoIn(stack: DisposableStack): string {
  const folder = Deno.makeTempDirSync({ prefix: "fifo é " });
  stack.defer(() => Deno.removeSync(folder, { recursive: true }));
  makeFifo(`${folder}/fifo`);
  return `${folder}/fifo`;
}

/** An fd of a new FIFO, which reads what is written to it. */
function openLoop(stack: DisposableStack): number {
  const fd = openFifo(fifoIn(stack));
  stack.defer(() => closeFd(fd));
  return fd;
}

/** The path of a new folder, which is removed with the stack. */
function folderIn(stack: DisposableStack): string {
  const folder = Deno.makeTempDirSync();
  stack.defer(() => Deno.removeSync(folder, { recursive: true }));
  return folder;
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

Deno.test("readFd() returns again, a length, or end", async () => {
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

Deno.test("readFd() fills its buffer and refuses an empty one", () => {
  using pty = openPty({ rows: 24, cols: 80 });
  using slave = Deno.openSync(pty.path, { write: true });
  slave.writeSync(new TextEncoder().encode("abc"));
  const buffer = new Uint8Array(8);
  assertEquals(readFd(pty.fd, buffer.subarray(2, 4)), 2);
  assertEquals([...buffer], [0, 0, 97, 98, 0, 0, 0, 0]);
  assertThrows(() => readFd(pty.fd, new Uint8Array()), RangeError, "the buffer is empty");
});

Deno.test("writeFd() returns a length, then again", () => {
  using stack = new DisposableStack();
  const fd = openLoop(stack);
  assertEquals(writeFd(fd, new Uint8Array()), 0);
  const taken = writeFd(fd, new Uint8Array(1 << 20));
  assert(typeof taken === "number" && taken > 0 && taken < 1 << 20);
  assertEquals(writeFd(fd, Uint8Array.of(1)), "again");
});

Deno.test("an fd that is not open is EBADF", () => {
  for (
    const call of [
      () => closeFd(-1),
      () => readFd(-1, new Uint8Array(1)),
      () => writeFd(-1, new Uint8Array(1)),
    ]
  ) assertEquals(assertThrows(call, LibcError).code, "EBADF");
});

Deno.test("fdStat() tells the kind of an fd and identifies it", () => {
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
  // The number of a closed fd may be in use again.
  const error = assertThrows(() => fdStat(-1), LibcError);
  assertEquals([error.call, error.code], ["fstat", "EBADF"]);
});

Deno.test("Pipe has two ends that no child inherits, closed once", () => {
  using pipe = new Pipe();
  for (const fd of [pipe.readFd, pipe.writeFd]) assert(flagsOf(fd) & CLOEXEC);
  pipe.closeReadEnd();
  pipe.closeReadEnd();
});

Deno.test("makeFifo() makes a FIFO for its owner only", () => {
  using stack = new DisposableStack();
  const path = fifoIn(stack);
  const { isFifo, mode } = Deno.statSync(path);
  assertEquals([isFifo, (mode ?? 0) & 0o777], [true, 0o600]);
  const taken = assertThrows(() => makeFifo(path), LibcError);
  assertEquals([taken.call, taken.code, taken.path], ["mkfifo", "EEXIST", path]);
  const missing = assertThrows(() => openFifo(MISSING), LibcError);
  assertEquals([missing.code, missing.path], ["ENOENT", MISSING]);
});

Deno.test("openFifo() reads one writer after another and never hangs up", async () => {
  using stack = new DisposableStack();
  const path = fifoIn(stack);
  const fd = openFifo(path);
  stack.defer(() => closeFd(fd));
  using poller = new Poller();
  let text = "";
  const options = {
    buffer: new Uint8Array(65536),
    onBytes: (bytes: Uint8Array) => void (text += textOf(bytes)),
  };
  for (const line of ["one", "two", "three"]) {
    Deno.writeTextFileSync(path, `${line}\n`, { create: false });
    assertEquals(await poller.wait([{ fd, read: true }], -1), [
      { fd, readable: true, writable: false, hangup: false },
    ]);
    assertEquals(drainFd(fd, options), "again");
    assertEquals(await poller.wait([{ fd, read: true }], 0), []);
  }
  assertEquals(text, "one\ntwo\nthree\n");
});

Deno.test("drainFd() stops after maxReads and returns more", () => {
  using stack = new DisposableStack();
  const fd = openLoop(stack);
  writeFd(fd, bytesOf("12345"));
  let text = "";
  const onBytes = (bytes: Uint8Array) => void (text += textOf(bytes));
  const options = { buffer: new Uint8Array(2), onBytes, maxReads: 2 };
  assertEquals([drainFd(fd, options), text], ["more", "1234"]);
  assertEquals([drainFd(fd, options), text], ["again", "12345"]);
});

Deno.test("readToEnd() reads a FIFO until its writer closes it", async () => {
  using stack = new DisposableStack();
  const path = fifoIn(stack);
  const reading = readToEnd(path, { limit: 1_000_000 });
  // Opening the FIFO for writing waits for its reader, which waits for the writer.
  const fifo = await Deno.open(path, { write: true });
  await fifo.write(bytesOf("first "));
  await fifo.write(new Uint8Array(200_000).fill(120));
  fifo.close();
  assert(textOf(await reading) === `first ${"x".repeat(200_000)}`);
});

Deno.test("readToEnd() reads files up to a limit", async () => {
  const path = import.meta.filename ?? "";
  assertEquals(await readToEnd(path, { limit: 1_000_000 }), Deno.readFileSync(path));
  assertEquals((await readToEnd("/dev/null", { limit: 1 })).length, 0);
  const { length } = await readToEnd("/dev/zero", { limit: 100_000 });
  assertEquals(length > 100_000 && length < 1_000_000, true);
  for (const [wrong, code] of [["/", "EISDIR"], [`${path}/x`, "ENOTDIR"]] as const) {
    const error = await assertRejects(() => readToEnd(wrong, { limit: 1 }), LibcError);
    assertEquals(error.code, code);
  }
});

/** The request of ioctl(2) that makes an fd nonblocking. */
const FIONBIO = 0x5421n;

Deno.test("connectUnix() opens a nonblocking stream in both directions", async () => {
  using stack = new DisposableStack();
  const path = `${folderIn(stack)}/socket`;
  const refusal = assertThrows(() => connectUnix(path), LibcError);
  assertEquals([refusal.code, refusal.path], ["ENOENT", path]);
  const listener = Deno.listen({ transport: "unix", path });
  const buffer = new Uint8Array(8);
  // The other side goes with everything read, and with something unread.
  for (const isRead of [true, false]) {
    const fd = connectUnix(path);
    const there = await listener.accept();
    assertEquals(readFd(fd, buffer), "again");
    sendFd(fd, bytesOf("hi"));
    if (isRead) {
      assertEquals(await there.read(buffer), 2);
      await there.write(bytesOf("you"));
      assertEquals(readFd(fd, buffer), 3);
    }
    there.close();
    await hungUp(fd);
    assertEquals(readFd(fd, buffer), "end");
    closeFd(fd);
  }
  listener.close();
});

Deno.test("connectUnix() takes a path of up to 107 bytes", () => {
  using stack = new DisposableStack();
  const folder = folderIn(stack);
  const path = `${folder}/${"x".repeat(MAX_SOCKET_PATH - folder.length - 1)}`;
  const listener = Deno.listen({ transport: "unix", path });
  closeFd(connectUnix(path));
  assertThrows(() => connectUnix(`${path}x`), RangeError, "longer than 107 bytes");
  assertThrows(() => listenUnix(`${path}x`, { backlog: 4 }), RangeError);
  listener.close();
});

Deno.test("listenUnix() and acceptUnix() do not block", () => {
  using stack = new DisposableStack();
  const path = `${folderIn(stack)}/socket`;
  const listener = listenUnix(path, { backlog: 4 });
  assertEquals([listener, 0, 1_000_000].map(isUnixListener), [true, false, false]);
  assertEquals(acceptUnix(listener), undefined);
  // systemd passes a blocking listener by default.
  libc().ioctl(listener, FIONBIO, Int32Array.of(0));
  setNonblocking(listener);
  assertEquals(acceptUnix(listener), undefined);
  const here = connectUnix(path);
  const there = acceptUnix(listener) ?? -1;
  sendFd(here, bytesOf("hi"));
  assertEquals(readFd(there, new Uint8Array(8)), 2);
  for (const fd of [here, there]) {
    assertEquals(peerOf(fd), { pid: Deno.pid, uid: Deno.uid() ?? -1 });
  }
  const refusal = assertThrows(() => listenUnix(path, { backlog: 4 }), LibcError);
  assertEquals([refusal.code, refusal.path], ["EADDRINUSE", path]);
  for (const fd of [here, there, listener]) closeFd(fd);
});

/** The two ends of a connection. */
function connection(): { readonly here: number; readonly there: number } {
  using stack = new DisposableStack();
  const path = `${folderIn(stack)}/socket`;
  const listener = listenUnix(path, { backlog: 1 });
  stack.defer(() => closeFd(listener));
  return { here: connectUnix(path), there: acceptUnix(listener) ?? -1 };
}

function receivedBy(fd: number, most = 100): Received {
  const received = receiveFds(fd, { most });
  assert(typeof received === "object", `${received}`);
  return received;
}

Deno.test("fds are passed with bytes, and no child inherits them", async () => {
  const { here, there } = connection();
  using pipe = new Pipe();
  const bytes = bytesOf("these");
  assertEquals(receiveFds(there, { most: 100 }), "again");
  assertEquals(sendFds(here, { bytes, fds: [pipe.readFd, pipe.writeFd, 0] }), 5);
  const { bytes: received, isCut, fds } = receivedBy(there);
  assertEquals([textOf(received), isCut, fds.length], ["these", false, 3]);
  const [read = -1, write = -1, zero = -1] = fds;
  assertEquals(fdStat(zero).id, fdStat(0).id);
  writeFd(write, bytes);
  assertEquals(readFd(read, new Uint8Array(8)), 5);
  for (const fd of fds) {
    assert(flagsOf(fd) & CLOEXEC);
    closeFd(fd);
  }
  // The fds arrive with the first of the bytes, also after the other side is closed.
  sendFds(here, { bytes, fds: [0, 1] });
  closeFd(here);
  const first = receivedBy(there, 2);
  assertEquals([textOf(first.bytes), first.fds.length], ["th", 2]);
  for (const fd of first.fds) closeFd(fd);
  const rest = receivedBy(there);
  assertEquals([textOf(rest.bytes), rest.fds], ["ese", []]);
  await hungUp(there);
  assertEquals(receiveFds(there, { most: 100 }), "end");
  assertEquals(sendFds(there, { bytes, fds: [0] }), "end");
  closeFd(there);
});

Deno.test("at most eight fds are passed at once", () => {
  const { here, there } = connection();
  const bytes = bytesOf("these");
  assertThrows(() => sendFds(here, { bytes, fds: Array(9).fill(0) }), RangeError);
  assertThrows(() => sendFds(here, { bytes: new Uint8Array(), fds: [0] }), RangeError);
  sendFds(here, { bytes, fds: Array(8).fill(0) });
  const { fds, isCut } = receivedBy(there);
  assertEquals([fds.length, isCut], [8, false]);
  for (const fd of [...fds, here, there]) closeFd(fd);
});

/** The first line that can be read from an fd. */
async function lineOf(fd: number, { limit = 100, patienceMs = 60_000 } = {}) {
  const line = await readInheritedLine(fd, { limit, patienceMs });
  return line === undefined ? undefined : textOf(line);
}

Deno.test("readInheritedLine() ends at a line feed, end or limit", async () => {
  for (
    const [written, limit, expected] of [
      ["key\nmore", 100, "key"],
      ["key", 100, "key"],
      ["", 100, ""],
      ["long key", 4, "long"],
    ] as const
  ) {
    using pipe = filledPipe(bytesOf(written));
    assertEquals(await lineOf(pipe.readFd, { limit }), expected);
  }
  using open = new Pipe();
  assertEquals(await lineOf(open.readFd, { patienceMs: 0 }), undefined);
  writeFd(open.writeFd, bytesOf("key\n"));
  assertEquals(await lineOf(open.readFd), "key");
});

Deno.test("an own fd is inherited once it is refilled", async () => {
  using pipe = new Pipe();
  const { readFd } = pipe;
  assertEquals([isInherited(readFd), isInherited(1_000_000)], [false, false]);
  replaceWithPipe(readFd, bytesOf("again"));
  assertEquals(isInherited(readFd), true);
  assertEquals([await lineOf(readFd), await lineOf(readFd)], ["again", ""]);
});

Deno.test("readProcFile() and readProcLink() read /proc or name the error", () => {
  assertEquals(readProcFile("/proc/self/cmdline"), Deno.readFileSync("/proc/self/cmdline"));
  assertEquals(readProcLink("/proc/self/ns/pid"), Deno.readLinkSync("/proc/self/ns/pid"));
  for (
    const [read, path, code] of [
      [readProcFile, "/proc/0/stat", "ENOENT"],
      [readProcLink, "/proc/self/stat", "EINVAL"],
    ] as const
  ) {
    const error = assertThrows(() => read(path), LibcError);
    assertEquals([error.code, error.path], [code, path]);
  }
});
