import { assertEquals, assertRejects } from "@std/assert";
import { cString } from "../../ffi/c_string.ts";
import { closeFd, writeFd } from "../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../ffi/descriptors/pipe.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { LibcError } from "../../ffi/errno.ts";
import { libc } from "../../ffi/libc.ts";
import { openPty } from "../../ffi/terminal/pty.ts";

/** An fd of a FIFO, which reads what is written to it. */
function openLoop(): Disposable & { readonly fd: number } {
  const folder = Deno.makeTempDirSync();
  makeFifo(`${folder}/fifo`);
  const fd = openFifo(`${folder}/fifo`);
  Deno.removeSync(folder, { recursive: true });
  return { fd, [Symbol.dispose]: () => closeFd(fd) };
}

/** Registers a test of a wait with a thread of its own, and of one without because 40 others wait. */
function test(name: string, body: () => Promise<void>): void {
  Deno.test(name, body);
  Deno.test(`${name}, while many others wait`, async () => {
    const others = Array.from({ length: 40 }, () => new Poller());
    const waits = others.map((each, index) => each.wait([], index % 2 === 0 ? -1 : 600_000));
    await body();
    for (const each of others) each.wake();
    await Promise.all(waits);
    for (const each of others) each[Symbol.dispose]();
  });
}

test("Poller.wait() returns the fds that are ready", async () => {
  using poller = new Poller();
  using quiet = openLoop();
  using busy = openLoop();
  writeFd(busy.fd, Uint8Array.of(1));
  const ready = { readable: false, writable: false, hangup: false };
  assertEquals(
    await poller.wait([{ fd: quiet.fd, read: true }, { fd: busy.fd, read: true }], -1),
    [{ ...ready, fd: busy.fd, readable: true }],
  );
  assertEquals(
    await poller.wait([{ fd: quiet.fd, read: true, write: true }, { fd: busy.fd, read: true }], -1),
    [{ ...ready, fd: quiet.fd, writable: true }, { ...ready, fd: busy.fd, readable: true }],
  );
  assertEquals(await poller.wait([{ fd: busy.fd }], 0), []);
});

test("Poller.wait() returns nothing when the time is over", async () => {
  using poller = new Poller();
  using quiet = openLoop();
  assertEquals(await poller.wait([{ fd: quiet.fd, read: true }], 0.5), []);
  assertEquals(await poller.wait([], 0), []);
});

test("Poller.wake() before a wait ends that wait only", async () => {
  using poller = new Poller();
  poller.wake();
  poller.wake();
  assertEquals(await poller.wait([], -1), []);
  using busy = openLoop();
  const next = poller.wait([{ fd: busy.fd, read: true }], -1);
  // Time for a wait that does not wait to return with nothing.
  await new Promise((resolve) => setTimeout(resolve, 0));
  writeFd(busy.fd, Uint8Array.of(1));
  assertEquals((await next).map(({ fd }) => fd), [busy.fd]);
});

test("Poller.wake() during a wait ends it", async () => {
  using poller = new Poller();
  using quiet = openLoop();
  const wait = poller.wait([{ fd: quiet.fd, read: true }], -1);
  poller.wake();
  assertEquals(await wait, []);
});

test("Poller.wait() returns ready fds when it is woken", async () => {
  using poller = new Poller();
  using busy = openLoop();
  writeFd(busy.fd, Uint8Array.of(1));
  poller.wake();
  assertEquals((await poller.wait([{ fd: busy.fd, read: true }], -1)).map(({ fd }) => fd), [
    busy.fd,
  ]);
});

test("Poller.wait() reports a hang-up without being asked", async () => {
  using poller = new Poller();
  using pty = openPty({ rows: 24, cols: 80 });
  Deno.openSync(pty.path, { read: true }).close();
  assertEquals(await poller.wait([{ fd: pty.fd }], -1), [
    { fd: pty.fd, readable: false, writable: false, hangup: true },
  ]);
});

test("Poller.wait() rejects with EBADF for a closed fd", async () => {
  using poller = new Poller();
  const error = await assertRejects(
    () => poller.wait([{ fd: 0x7ffffff, read: true }], -1),
    LibcError,
  );
  assertEquals(error.code, "EBADF");
});

test("Poller.wait() refuses a second wait", async () => {
  using poller = new Poller();
  const wait = poller.wait([], -1);
  await assertRejects(() => poller.wait([], 0), Error, "Cannot poll: another wait is pending");
  poller.wake();
  assertEquals(await wait, []);
  assertEquals(await poller.wait([], 0), []);
});

test("Poller can be disposed during a wait", async () => {
  const poller = new Poller();
  const wait = poller.wait([], -1);
  poller[Symbol.dispose]();
  poller[Symbol.dispose]();
  assertEquals(await wait, []);
});

test("a disposed Poller refuses to wait", async () => {
  const poller = new Poller();
  poller[Symbol.dispose]();
  poller[Symbol.dispose]();
  poller.wake();
  await assertRejects(() => poller.wait([], 0), Error, "Cannot poll: the poller is disposed");
});

test("Poller.wait() finds a file ready at once", async () => {
  using poller = new Poller();
  using quiet = openLoop();
  const fd = libc().open(cString("deno.json"), 0);
  const ready = { readable: false, writable: false, hangup: false };
  assertEquals(await poller.wait([{ fd, read: true }], -1), [{ ...ready, fd, readable: true }]);
  const wait = poller.wait([{ fd }, { fd: quiet.fd, read: true }, { fd: quiet.fd }], -1);
  writeFd(quiet.fd, Uint8Array.of(1));
  assertEquals(await wait, [{ ...ready, fd: quiet.fd, readable: true }]);
  closeFd(fd);
});

Deno.test("a hundred waits end in their time, beside file reads", async () => {
  const pollers = Array.from({ length: 100 }, () => new Poller());
  using busy = openLoop();
  const order: number[] = [];
  const waits = pollers.map(async (each, index) => {
    // The last ones wait the shortest, and after those that wait already.
    const found = await each.wait([{ fd: busy.fd, read: true }], index < 50 ? -1 : 100 - index);
    order.push(index);
    return found.length;
  });
  await Promise.all(waits.slice(50));
  assertEquals(order.filter((index) => index < 50), []);
  assertEquals((await Deno.readTextFile("deno.json")).length > 0, true);
  writeFd(busy.fd, Uint8Array.of(1));
  assertEquals(await Promise.all(waits.slice(0, 50)), Array(50).fill(1));
  for (const each of pollers) each[Symbol.dispose]();
});
