import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { cString } from "../../ffi/c_string.ts";
import { closeFd, drainFd, readFd } from "../../ffi/descriptors/fd.ts";
import { Outlet } from "../../ffi/descriptors/outlet.ts";
import { makeFifo, openFifo } from "../../ffi/descriptors/pipe.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { WriteQueue } from "../../ffi/descriptors/write_queue.ts";
import { LibcError } from "../../ffi/errno.ts";
import { libc } from "../../ffi/libc.ts";
import { openPty, type Pty } from "../../ffi/terminal/pty.ts";
import { silenceInput } from "../../ffi/terminal/silent_input.ts";

/** A pseudo-terminal with its slave open, like the program's stderr. */
function openTerminal(): { readonly pty: Pty; readonly slave: Deno.FsFile; readonly fd: number } {
  const pty = openPty({ rows: 24, cols: 80 });
  const slave = Deno.openSync(pty.path, { read: true, write: true });
  const fd = [...Deno.readDirSync("/proc/self/fd")].map(({ name }) => Number(name))
    .findLast((fd) => linkOf(fd) === pty.path);
  assert(fd !== undefined);
  return { pty, slave, fd };
}

function linkOf(fd: number): string | undefined {
  try {
    return Deno.readLinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return undefined;
  }
}

function drained({ fd }: { readonly fd: number }): string {
  let text = "";
  const decoder = new TextDecoder();
  const onBytes = (bytes: Uint8Array) => text += decoder.decode(bytes, { stream: true });
  while (drainFd(fd, { buffer: new Uint8Array(65536), onBytes }) === "more");
  return text;
}

const READ = 0;
const WRITE = 1;
const NONBLOCKING = 0o4000;
const CLOEXEC = 0o2000000;

function open(path: string, flags: number): number {
  const fd = libc().open(cString(path), flags | CLOEXEC);
  assert(fd >= 0, path);
  return fd;
}

/** The path of a new FIFO. Opening it for writing needs a reader, or fails with ENXIO. */
function fifo(stack: DisposableStack): string {
  const folder = Deno.makeTempDirSync();
  stack.defer(() => Deno.removeSync(folder, { recursive: true }));
  makeFifo(`${folder}/fifo`);
  return `${folder}/fifo`;
}

/** Both ends of a FIFO, which is not full. */
function openPair(stack: DisposableStack): { readonly reader: number; readonly writer: number } {
  const path = fifo(stack);
  const reader = open(path, READ | NONBLOCKING);
  const writer = open(path, WRITE);
  stack.defer(() => closeFd(writer));
  return { reader, writer };
}

/** An outlet, and the fd that reads from it. */
interface Line {
  readonly outlet: Outlet;
  readonly reader: { readonly fd: number };
}

const LINES: readonly (readonly [string, (stack: DisposableStack) => Line])[] = [
  ["a terminal", (stack) => {
    const { pty, slave, fd } = openTerminal();
    stack.use(pty);
    stack.use(slave);
    return { outlet: stack.use(new Outlet(fd)), reader: pty };
  }],
  ["a pipe", (stack) => {
    const { reader, writer } = openPair(stack);
    stack.defer(() => closeFd(reader));
    return { outlet: stack.use(new Outlet(writer)), reader: { fd: reader } };
  }],
  ["a pipe that cannot be opened anew", (stack) => {
    const path = fifo(stack);
    const first = open(path, READ | NONBLOCKING);
    const writer = open(path, WRITE);
    stack.defer(() => closeFd(writer));
    closeFd(first);
    const outlet = stack.use(new Outlet(writer));
    assertEquals(outlet.fd, writer);
    const reader = open(path, READ | NONBLOCKING);
    stack.defer(() => closeFd(reader));
    return { outlet, reader: { fd: reader } };
  }],
];

for (const [kind, lay] of LINES) {
  Deno.test(`an outlet on ${kind} buffers text and never blocks`, () => {
    using stack = new DisposableStack();
    const { outlet, reader } = lay(stack);
    outlet.write("héllo");
    assertEquals([outlet.pending, drained(reader)], [0, "héllo"]);
    const text = "0123456789".repeat(50_000);
    outlet.write(text.slice(0, 400_000));
    const { pending } = outlet;
    assert(pending > 0);
    outlet.write(text.slice(400_000));
    // A terminal makes room when it passes text on.
    assert(outlet.pending > 0 && outlet.pending <= pending + 100_000);
    let read = "";
    while (outlet.pending > 0) {
      read += drained(reader);
      outlet.flush();
    }
    assertEquals(read + drained(reader), text);
  });

  Deno.test(`an outlet on ${kind} drops its buffer`, () => {
    using stack = new DisposableStack();
    const { outlet, reader } = lay(stack);
    outlet.write("x".repeat(100_000));
    outlet.drop();
    assertEquals(outlet.pending, 0);
    drained(reader);
    outlet.write("y".repeat(100_000));
    outlet[Symbol.dispose]();
    outlet[Symbol.dispose]();
    drained(reader);
    outlet.write("late");
    outlet.flush();
    assert(!drained(reader).includes("late"));
  });
}

Deno.test("an outlet writes gathered text when it is flushed", () => {
  using stack = new DisposableStack();
  const { reader, writer } = openPair(stack);
  stack.defer(() => closeFd(reader));
  const outlet = stack.use(new Outlet(writer));
  outlet.gather();
  outlet.write("one ");
  outlet.write("twö");
  assert(outlet.pending > 0);
  assertEquals(readFd(reader, new Uint8Array(64)), "again");
  outlet.flush();
  assertEquals([outlet.pending, drained({ fd: reader })], [0, "one twö"]);
  outlet.write(" three");
  assertEquals(drained({ fd: reader }), " three");
  outlet.gather();
  outlet.write("four");
  outlet.drop();
  outlet.flush();
  assertEquals(readFd(reader, new Uint8Array(64)), "again");
});

Deno.test("an outlet does not change flags of a shared file", () => {
  using stack = new DisposableStack();
  const { reader, writer } = openPair(stack);
  stack.defer(() => closeFd(reader));
  const flags = () => /flags:\s+(\d+)/u.exec(Deno.readTextFileSync(`/proc/self/fdinfo/${writer}`));
  const before = flags()?.[1];
  stack.use(new Outlet(writer)).write("x".repeat(100_000));
  assertEquals(flags()?.[1], before);
});

Deno.test("an outlet ends once without a reader or room", async () => {
  using stack = new DisposableStack();
  const { reader, writer } = openPair(stack);
  const full = open("/dev/full", WRITE);
  stack.defer(() => closeFd(full));
  const pipe = stack.use(new Outlet(writer));
  const disk = stack.use(new Outlet(full));
  let ends = 0;
  for (const outlet of [pipe, disk]) outlet.onEnd = () => ends++;
  pipe.write("x".repeat(100_000));
  assertEquals([pipe.end, ends], [undefined, 0]);
  closeFd(reader);
  // A program that another test starts at that moment holds the reader, too.
  using poller = new Poller();
  await poller.wait([{ fd: writer, write: true }], 10_000);
  for (const outlet of [pipe, disk]) {
    outlet.flush();
    outlet.write("more");
    outlet.write("and more");
    assertEquals(outlet.pending, 0);
  }
  assertEquals(pipe.end, "unread");
  assert(disk.end instanceof LibcError && disk.end.code === "ENOSPC");
  assertEquals(ends, 2);
});

Deno.test("an outlet on a file or /dev/null takes everything", () => {
  using stack = new DisposableStack();
  const folder = Deno.makeTempDirSync();
  stack.defer(() => Deno.removeSync(folder, { recursive: true }));
  Deno.writeTextFileSync(`${folder}/file`, "");
  const text = "0123456789".repeat(200_000);
  for (const path of [`${folder}/file`, "/dev/null"]) {
    const fd = open(path, WRITE);
    stack.defer(() => closeFd(fd));
    const outlet = stack.use(new Outlet(fd));
    outlet.write(text);
    assertEquals([outlet.pending, outlet.end], [0, undefined]);
  }
  assert(Deno.readTextFileSync(`${folder}/file`) === text);
});

Deno.test("an outlet and silenceInput() refuse a closed fd", () => {
  assertThrows(() => new Outlet(-1), LibcError, "Cannot look at fd -1");
  assertThrows(() => silenceInput(-1), LibcError, "Cannot silence the terminal");
});

Deno.test("WriteQueue delivers every byte in order", () => {
  const folder = Deno.makeTempDirSync();
  makeFifo(`${folder}/fifo`);
  const fd = openFifo(`${folder}/fifo`);
  const step = fc.record({
    push: fc.integer({ min: 0, max: 50_000 }),
    read: fc.integer({ min: 1, max: 70_000 }),
  });
  try {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 8 }), (steps) => {
        const queue = new WriteQueue();
        let pushed = 0;
        let read = 0;
        const receive = (length: number): boolean => {
          const buffer = new Uint8Array(length);
          const count = readFd(fd, buffer);
          if (typeof count !== "number") return false;
          for (let index = 0; index < count; index++) {
            if (buffer[index] !== (read + index) % 251) throw new Error(`Byte ${read + index}`);
          }
          read += count;
          return true;
        };
        for (const { push, read: length } of steps) {
          const bytes = new Uint8Array(push).map((_, index) => (pushed + index) % 251);
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
      { numRuns: 10 },
    );
  } finally {
    closeFd(fd);
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("WriteQueue ends when its reader is gone", async () => {
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
    // A program that another test starts at that moment holds the reader, too.
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

Deno.test("WriteQueue ignores empty pushes", () => {
  const queue = new WriteQueue();
  queue.push(new Uint8Array());
  assertEquals([queue.pending, queue.flush(-1)], [0, "done"]);
});
