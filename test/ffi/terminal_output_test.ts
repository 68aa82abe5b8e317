import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { drainFd } from "../../ffi/drain_fd.ts";
import { LibcError } from "../../ffi/errno.ts";
import { readFd, writeFd } from "../../ffi/fd.ts";
import { Poller } from "../../ffi/poll.ts";
import { openPty, type Pty } from "../../ffi/pty.ts";
import { silenceInput } from "../../ffi/silent_input.ts";
import { TerminalOutput } from "../../ffi/terminal_output.ts";
import { runScript } from "./pty_child.ts";

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

function drained({ fd }: Pty): string {
  let text = "";
  const decoder = new TextDecoder();
  const onBytes = (bytes: Uint8Array) => text += decoder.decode(bytes, { stream: true });
  while (drainFd(fd, { buffer: new Uint8Array(65536), onBytes }) === "more");
  return text;
}

Deno.test("TerminalOutput writes to the terminal of an fd", () => {
  const { pty, slave, fd } = openTerminal();
  using _pty = pty;
  using _slave = slave;
  using output = new TerminalOutput(fd);
  output.write("héllo");
  assertEquals([output.pending, drained(pty)], [0, "héllo"]);
});

Deno.test("TerminalOutput keeps what a terminal does not take, and never waits for it", () => {
  const { pty, slave, fd } = openTerminal();
  using _pty = pty;
  using _slave = slave;
  using output = new TerminalOutput(fd);
  const text = "0123456789".repeat(10_000);
  output.write(text);
  assert(output.pending > 0);
  let shown = "";
  while (output.pending > 0) {
    shown += drained(pty);
    output.flush();
  }
  assertEquals(shown + drained(pty), text);
});

Deno.test("TerminalOutput forgets what it is told to forget, and everything once it is disposed", () => {
  const { pty, slave, fd } = openTerminal();
  using _pty = pty;
  using _slave = slave;
  const output = new TerminalOutput(fd);
  output.write("x".repeat(100_000));
  output.drop();
  assertEquals(output.pending, 0);
  output[Symbol.dispose]();
  output[Symbol.dispose]();
  drained(pty);
  output.write("late");
  assertEquals(drained(pty), "");
});

Deno.test("TerminalOutput says that an fd is not open", () => {
  assertThrows(() => new TerminalOutput(9999), LibcError, "Cannot open the terminal");
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
