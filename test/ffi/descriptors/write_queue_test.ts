import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { cString } from "../../../ffi/c_string.ts";
import { closeFd, readFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo } from "../../../ffi/descriptors/pipe.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { WriteQueue } from "../../../ffi/descriptors/write_queue.ts";
import { libc } from "../../../ffi/libc.ts";
import { PtyChild } from "../terminal/pty_child.ts";

Deno.test("WriteQueue delivers every byte in order, however writes and reads interleave", () => {
  const folder = Deno.makeTempDirSync();
  makeFifo(`${folder}/fifo`);
  const fd = openFifo(`${folder}/fifo`);
  const step = fc.record({
    push: fc.integer({ min: 0, max: 50_000 }),
    read: fc.integer({ min: 1, max: 70_000 }),
  });
  try {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const queue = new WriteQueue();
        let pushed = 0;
        let read = 0;
        const receive = (length: number): boolean => {
          const buffer = new Uint8Array(length);
          const count = readFd(fd, buffer);
          if (typeof count !== "number") return false;
          for (const [index, byte] of buffer.subarray(0, count).entries()) {
            if (byte !== (read + index) % 251) throw new Error(`Wrong byte at ${read + index}`);
          }
          read += count;
          return true;
        };
        for (const { push, read: length } of steps) {
          const bytes = Uint8Array.from({ length: push }, (_, index) => (pushed + index) % 251);
          queue.push(bytes);
          bytes.fill(255);
          pushed += push;
          const state = queue.flush(fd);
          assertEquals(state, queue.pending === 0 ? "done" : "again");
          receive(length);
        }
        while (queue.flush(fd) === "again") receive(65536);
        while (receive(65536));
        assertEquals({ read, pending: queue.pending }, { read: pushed, pending: 0 });
      }),
      { numRuns: 30 },
    );
  } finally {
    closeFd(fd);
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("WriteQueue brings 2 MB through a terminal that takes some KB at a time", async () => {
  const bytes = Uint8Array.from(
    { length: 2 << 20 },
    (_, index) => (index * 31 + (index >> 8)) & 0xff,
  );
  const folder = await Deno.makeTempDir();
  try {
    makeFifo(`${folder}/go`);
    const go = openFifo(`${folder}/go`);
    await using child = new PtyChild("/bin/sh", {
      args: ["-c", `stty raw -echo; echo ready; read go <go; head -c ${bytes.length} | sha256sum`],
      cwd: folder,
    });
    await child.readUntil("ready");
    const queue = new WriteQueue();
    queue.push(bytes);
    assertEquals(queue.flush(child.pty.fd), "again");
    const start = new WriteQueue();
    start.push(new TextEncoder().encode("\n"));
    assertEquals(start.flush(go), "done");
    do await child.writable(); while (queue.flush(child.pty.fd) === "again");
    assertEquals(queue.pending, 0);
    const { text } = await child.end();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
    assertEquals(text, `ready\n${digest}  -\n`);
    closeFd(go);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("WriteQueue drops what is left when nobody can read it any more", async () => {
  const folder = Deno.makeTempDirSync();
  const path = `${folder}/fifo`;
  makeFifo(path);
  const reader = openFifo(path);
  const writeOnlyNonblocking = 0o4001;
  const writer = libc().open(cString(path), writeOnlyNonblocking);
  try {
    const queue = new WriteQueue();
    queue.push(new Uint8Array(1 << 20));
    assertEquals(queue.flush(writer), "again");
    assert(queue.pending > 0);
    closeFd(reader);
    using poller = new Poller();
    let flushed: ReturnType<WriteQueue["flush"]> = "again";
    // A process that another test is just starting has all fds of this one until it runs its program.
    while (flushed === "again") {
      await poller.wait([{ fd: writer, write: true }], -1);
      flushed = queue.flush(writer);
    }
    assertEquals([flushed, queue.pending], ["end", 0]);
    assertEquals(queue.flush(writer), "done");
  } finally {
    closeFd(writer);
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("WriteQueue has nothing to do for empty pushes", () => {
  const queue = new WriteQueue();
  queue.push(new Uint8Array());
  assertEquals([queue.pending, queue.flush(-1)], [0, "done"]);
});
