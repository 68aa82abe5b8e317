import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { cString } from "../../../ffi/c_string.ts";
import { closeFd, drainFd, readFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { Outlet } from "../../../ffi/descriptors/outlet.ts";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { libc } from "../../../ffi/libc.ts";
import { openPty, type Pty } from "../../../ffi/terminal/pty.ts";
import { silenceInput } from "../../../ffi/terminal/silent_input.ts";
import { runScript } from "../terminal/pty_child.ts";

/** A pseudo-terminal with its slave open, as this program's stderr would be. */
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

/** Waits until the kernel has done with what was typed, which it does when it finds the time. */
async function readable(fd: number): Promise<void> {
  using poller = new Poller();
  await poller.wait([{ fd, read: true }], 10_000);
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

/** A FIFO in a folder of its own: whoever opens it for writing needs a reader, or gets ENXIO. */
function fifo(stack: DisposableStack): string {
  const folder = Deno.makeTempDirSync();
  stack.defer(() => Deno.removeSync(folder, { recursive: true }));
  makeFifo(`${folder}/fifo`);
  return `${folder}/fifo`;
}

/** An outlet, and the fd from which it is read. */
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
    const path = fifo(stack);
    const reader = open(path, READ | NONBLOCKING);
    stack.defer(() => closeFd(reader));
    const writer = open(path, WRITE);
    stack.defer(() => closeFd(writer));
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

for (const [what, lay] of LINES) {
  Deno.test(`an outlet on ${what} keeps what it does not take, and never waits`, () => {
    using stack = new DisposableStack();
    const { outlet, reader } = lay(stack);
    outlet.write("héllo");
    assertEquals([outlet.pending, drained(reader)], [0, "héllo"]);
    const text = "0123456789".repeat(50_000);
    outlet.write(text.slice(0, 400_000));
    const { pending } = outlet;
    assert(pending > 0);
    outlet.write(text.slice(400_000));
    // A terminal moves on what it holds in its own time, which makes room.
    assert(outlet.pending > 0 && outlet.pending <= pending + 100_000);
    let read = "";
    while (outlet.pending > 0) {
      read += drained(reader);
      outlet.flush();
    }
    assertEquals(read + drained(reader), text);
  });

  Deno.test(`an outlet on ${what} forgets what it is told to, and all once it is disposed`, () => {
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

Deno.test("an outlet writes together what it gathers, once it is flushed", () => {
  using stack = new DisposableStack();
  const path = fifo(stack);
  const reader = open(path, READ | NONBLOCKING);
  stack.defer(() => closeFd(reader));
  const writer = open(path, WRITE);
  stack.defer(() => closeFd(writer));
  const outlet = stack.use(new Outlet(writer));
  outlet.gather();
  outlet.write("one ");
  outlet.write("twö");
  // Nobody takes them for written.
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

Deno.test("an outlet leaves the file that it shares with others as it is", () => {
  using stack = new DisposableStack();
  const path = fifo(stack);
  const reader = open(path, READ | NONBLOCKING);
  stack.defer(() => closeFd(reader));
  const writer = open(path, WRITE);
  stack.defer(() => closeFd(writer));
  const flags = () => /flags:\s+(\d+)/u.exec(Deno.readTextFileSync(`/proc/self/fdinfo/${writer}`));
  const before = flags()?.[1];
  stack.use(new Outlet(writer)).write("x".repeat(100_000));
  assertEquals(flags()?.[1], before);
});

Deno.test("an outlet ends once, when its reader has gone or it can hold no more", async () => {
  using stack = new DisposableStack();
  const path = fifo(stack);
  const reader = open(path, READ | NONBLOCKING);
  const writer = open(path, WRITE);
  stack.defer(() => closeFd(writer));
  const full = open("/dev/full", WRITE);
  stack.defer(() => closeFd(full));
  const pipe = stack.use(new Outlet(writer));
  const disk = stack.use(new Outlet(full));
  let ends = 0;
  for (const outlet of [pipe, disk]) outlet.onEnd = () => ends++;
  pipe.write("x".repeat(100_000));
  assertEquals([pipe.end, ends], [undefined, 0]);
  closeFd(reader);
  // A program that another test starts just then has its end, too, until it is started.
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

Deno.test("an outlet on a file or /dev/null takes everything at once", () => {
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

Deno.test("an outlet says that an fd is not open", () => {
  assertThrows(() => new Outlet(-1), LibcError, "Cannot look at fd -1");
});

Deno.test("silenceInput neither shows nor keeps what is typed, and undoes itself", async () => {
  const { pty, slave, fd } = openTerminal();
  using _pty = pty;
  using _slave = slave;
  const typed = new TextEncoder().encode("rm -rf x\n");
  const settings = async () => (await runScript(`stty -g <${pty.path}`)).text;
  const before = await settings();
  {
    using _silence = silenceInput(fd);
    writeFd(pty.fd, typed);
    await readable(fd);
    assertEquals(readFd(pty.fd, new Uint8Array(64)), "again");
    assertMatch((await runScript(`stty -a <${pty.path}`)).text, /; susp = <undef>;/);
  }
  assertEquals(await settings(), before);
  // Whoever reads next would get the first line; the terminal is asked instead of waited for.
  writeFd(pty.fd, new TextEncoder().encode("next\n"));
  await readable(fd);
  assertEquals(drained(pty), "next\r\n");
  const line = new Uint8Array(64);
  assertEquals(new TextDecoder().decode(line.subarray(0, slave.readSync(line) ?? 0)), "next\n");
});

Deno.test("silenceInput says that an fd is no terminal", () => {
  assertThrows(() => silenceInput(-1), LibcError, "Cannot silence the terminal");
});
