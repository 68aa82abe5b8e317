import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { closeFd, readFd } from "../../../ffi/descriptors/fd.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { openPidfd, waitFor } from "../../../ffi/processes/process.ts";
import { spawn } from "../../../ffi/processes/spawn.ts";
import { DEFAULT_WINDOW_SIZE, openPty, windowSize } from "../../../ffi/terminal/pty.ts";
import { PtyChild, runScript } from "./pty_child.ts";

const READY_THEN_SIZE_ON_WINCH = `
  trap 'stty size; kill $!; exit 0' WINCH
  sleep 60 &
  echo ready
  wait
`;

Deno.test("openPty gives a terminal of the size asked for, and a slave that exists", () => {
  using pty = openPty({ rows: 24, cols: 80 });
  assertEquals(pty.size(), { rows: 24, cols: 80 });
  assertMatch(pty.path, /^\/dev\/pts\/\d+$/);
  assert(Deno.statSync(pty.path).isCharDevice);
});

Deno.test("openPty's master is nonblocking and not at its end before a child has opened the slave", () => {
  using pty = openPty({ rows: 24, cols: 80 });
  assertEquals(readFd(pty.fd, new Uint8Array(16)), "again");
});

Deno.test("openPty refuses a size that a terminal cannot have", () => {
  for (const rows of [0, -1, 1.5, 65536, NaN]) {
    assertThrows(() => openPty({ rows, cols: 80 }), RangeError, "Cannot set the terminal size");
    assertThrows(() => openPty({ rows: 24, cols: rows }), RangeError);
  }
});

Deno.test("Pty.resize tells the child by SIGWINCH", async () => {
  await using child = new PtyChild("/bin/sh", {
    args: ["-c", READY_THEN_SIZE_ON_WINCH],
    size: { rows: 10, cols: 20 },
  });
  await child.readUntil("ready");
  child.pty.resize({ rows: 40, cols: 132 });
  assertEquals(child.pty.size(), { rows: 40, cols: 132 });
  const { text, status } = await child.end();
  assertEquals({ text, status }, {
    text: "ready\r\n40 132\r\n",
    status: { kind: "exited", code: 0 },
  });
});

Deno.test("Pty hangs up on its child when it is disposed", async () => {
  const pty = openPty({ rows: 24, cols: 80 });
  const pid = spawn("/bin/cat", { args: [], env: {}, cwd: "/", pty });
  const pidfd = openPidfd(pid);
  using poller = new Poller();
  pty[Symbol.dispose]();
  assertEquals((await poller.wait([{ fd: pidfd, read: true }], -1)).length, 1);
  assertEquals(waitFor(pid), { kind: "signaled", signal: 1 });
  closeFd(pidfd);
});

Deno.test("Pty refuses to touch its fd after it is disposed, and is disposed only once", () => {
  const pty = openPty({ rows: 24, cols: 80 });
  pty[Symbol.dispose]();
  pty[Symbol.dispose]();
  assertThrows(() => pty.size(), Error, "Cannot read the terminal size: the terminal is closed");
  assertThrows(() => pty.resize({ rows: 1, cols: 1 }), Error, "the terminal is closed");
});

Deno.test("windowSize reads the size of a terminal", () => {
  using pty = openPty({ rows: 33, cols: 111 });
  assertEquals(windowSize(pty.fd), { rows: 33, cols: 111 });
});

Deno.test("windowSize of something else than a terminal, or of nothing, is undefined", () => {
  const pidfd = openPidfd(Deno.pid);
  assertEquals(windowSize(pidfd), undefined);
  closeFd(pidfd);
  assertEquals(windowSize(-1), undefined);
});

Deno.test("windowSize of a terminal that says 0 rows and 0 columns is undefined", async () => {
  using pty = openPty(DEFAULT_WINDOW_SIZE);
  const { status } = await runScript(`stty rows 0 cols 0 <${pty.path}`);
  assertEquals(status, { kind: "exited", code: 0 });
  assertEquals(windowSize(pty.fd), undefined);
});

Deno.test("DEFAULT_WINDOW_SIZE is 50 rows of 220 columns", async () => {
  const { text } = await runScript("stty size", { size: DEFAULT_WINDOW_SIZE });
  assertEquals(text, "50 220\r\n");
});
