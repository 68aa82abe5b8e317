/**
 * Children and their terminals: most tests start a process.
 *
 * @module
 */

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { cString } from "../../../ffi/c_string.ts";
import { closeFd, readFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { makeFifo, openFifo, Pipe } from "../../../ffi/descriptors/pipe.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { WriteQueue } from "../../../ffi/descriptors/write_queue.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { libc } from "../../../ffi/libc.ts";
import { readProcFile, readProcPids } from "../../../ffi/processes/proc.ts";
import {
  kill,
  killAndReap,
  killGroup,
  openPidfd,
  waitFor,
} from "../../../ffi/processes/process.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { spawn, type SpawnOptions } from "../../../ffi/processes/spawn.ts";
import { DEFAULT_WINDOW_SIZE, openPty, windowSize } from "../../../ffi/terminal/pty.ts";
import { silenceInput } from "../../../ffi/terminal/silent_input.ts";
import { MISSING, NOWHERE } from "../../nowhere.ts";
import { PtyChild, runScript } from "./pty_child.ts";
import { tempFolder } from "../../temp_folder.ts";
import { sha256 } from "../../../fixtures/mock/files/journal.ts";

const SUCCESS = { kind: "exited", code: 0 } as const;

Deno.test("spawn() passes on argv, environment and working directory", async () => {
  const folder = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "spawn é '" }));
  const args = ["", " a  b", "--flag=é🙂", "line\nline", "'\"$x\\"];
  const env = { A: "1", EMPTY: "", B: "x=y é", PATH: "/usr/bin:/bin" };
  await using child = new PtyChild("/bin/sh", {
    args: [
      "-c",
      `stty -opost; stty size; pwd -P; tr '\\0' '|' </proc/$$/environ; printf '\\n'; printf '%s\\037' "$@"`,
      "sh",
      ...args,
    ],
    env,
    cwd: folder,
    size: { rows: 33, cols: 111 },
  });
  const [size, cwd, environment = "", ...rest] = (await child.end()).text.split("\n");
  assertEquals([size, cwd], ["33 111", folder]);
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  assertEquals(environment.split("|"), [...variables, ""]);
  assertEquals(rest.join("\n"), args.map((arg) => `${arg}\x1f`).join(""));
  await Deno.remove(folder);
});

Deno.test("spawn() starts a session with a controlling terminal", async () => {
  await using child = new PtyChild("/bin/sh", {
    args: ["-c", "tty; : </dev/tty && tty <&1 && tty <&2; cat /proc/$$/stat"],
  });
  const { text, status } = await child.end();
  assertEquals(status, SUCCESS);
  const [onIn, onOut, onErr, stat = ""] = text.split("\r\n");
  const { path } = child.pty;
  assertEquals([onIn, onOut, onErr], [path, path, path]);
  const [, , group, session, , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const pid = String(child.pid);
  assertEquals({ group, session, foreground }, { group: pid, session: pid, foreground: pid });
});

Deno.test("the pty stays the terminal if stdin is a file", async () => {
  await using child = new PtyChild("/bin/sh", {
    args: ["-c", "tty; tty <&1; tty </dev/tty; : >&0 || echo read-only"],
    stdin: "/dev/null",
  });
  const [onIn, onOut, onTty] = (await child.end()).text.split("\r\n");
  assertEquals([onIn, onOut, onTty], ["not a tty", child.pty.path, "/dev/tty"]);
});

Deno.test("Ctrl-C on the terminal interrupts the child", async () => {
  await using child = new PtyChild("/bin/sh", { args: ["-c", "echo ready; exec cat"] });
  await child.readUntil("ready");
  assertEquals(writeFd(child.pty.fd, Uint8Array.of(3)), 1);
  assertEquals((await child.end()).status, { kind: "signaled", signal: SIGNALS.SIGINT });
});

Deno.test("spawn() passes on only fds 0, 1 and 2", async () => {
  const inheritable = libc().open(cString("/dev/null"), 0);
  try {
    assert(inheritable > 2);
    const { text } = await runScript("ls /proc/$$/fd; :");
    assertEquals(text.split(/\s+/), ["0", "1", "2", ""]);
    const { text: withInput } = await runScript("ls /proc/$$/fd; :", { stdin: "/dev/null" });
    assertEquals(withInput.split(/\s+/), ["0", "1", "2", ""]);
  } finally {
    closeFd(inheritable);
  }
});

Deno.test("spawn() resets all signals and blocks none", async () => {
  const ignoredHere = signalSet(Deno.readTextFileSync("/proc/self/status"), "SigIgn");
  const sigpipe = 1n << 12n;
  assertEquals(ignoredHere & sigpipe, sigpipe);
  await using child = new PtyChild("/bin/cat", { args: ["/proc/self/status"] });
  const { text } = await child.end();
  // Signals 32 and 33 are glibc's own and not a program's to set.
  const ownedByLibc = (1n << 31n) | (1n << 32n);
  assertEquals(signalSet(text, "SigIgn") & ~ownedByLibc, 0n);
  assertEquals(signalSet(text, "SigBlk"), 0n);
  assertEquals(signalSet(text, "SigCgt"), 0n);
});

function signalSet(status: string, name: string): bigint {
  return BigInt(`0x${status.match(new RegExp(`^${name}:\\s*([0-9a-f]+)`, "m"))?.[1]}`);
}

Deno.test("stdin is read from a file byte for byte", async () => {
  const input = crypto.getRandomValues(new Uint8Array(65536));
  const bytes = Uint8Array.from({ length: 1 << 17 }, (_, index) => input[index % 65536] ?? 0);
  bytes.fill(0, 1000, 2000);
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeFile(file, bytes);
    await using child = new PtyChild("/usr/bin/sha256sum", { stdin: file });
    const { text } = await child.end();
    const digest = await sha256(bytes);
    assertEquals(text, `${digest}  -\r\n`);
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("spawn() searches PATH of this process", async () => {
  await using child = new PtyChild("true", { env: { PATH: NOWHERE } });
  assertEquals((await child.end()).status, SUCCESS);
});

function failure(file: string, options: Partial<SpawnOptions> = {}): unknown {
  using pty = openPty({ rows: 24, cols: 80 });
  const error = assertThrows(
    () => spawn(file, { args: [], env: {}, cwd: "/", ...options, pty }),
    LibcError,
  );
  return { code: error.code, path: error.path };
}

Deno.test("spawn() names the path that makes it fail", async () => {
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, "no program");
  await Deno.chmod(file, 0o755);
  for (
    const [code, path, program, options] of [
      ["ENOENT", MISSING, MISSING],
      ["ENOENT", "no-such-claude", "no-such-claude"],
      ["EACCES", "/etc/passwd", "/etc/passwd"],
      ["EACCES", "/etc", "/etc"],
      ["ENOEXEC", file, file],
      ["ENOENT", MISSING, "/bin/true", { cwd: MISSING }],
      ["ENOENT", "", "/bin/true", { cwd: "" }],
      ["ENOTDIR", "/etc/passwd", "/bin/true", { cwd: "/etc/passwd" }],
      ["ENOENT", MISSING, "/bin/true", { stdin: MISSING }],
      ["E2BIG", "/bin/true", "/bin/true", { args: ["x".repeat(128 * 1024)] }],
    ] as const
  ) assertEquals(failure(program, options), { code, path });
  await Deno.remove(file);
});

Deno.test("spawn() refuses NUL and invalid names of variables", () => {
  using pty = openPty({ rows: 24, cols: 80 });
  const plain = { args: [], env: {}, cwd: "/", pty };
  assertThrows(() => spawn("/bin/true\0", plain), TypeError, "it holds a NUL");
  assertThrows(() => spawn("/bin/true", { ...plain, args: ["a\0b"] }), TypeError, "NUL");
  assertThrows(() => spawn("/bin/true", { ...plain, env: { A: "\0" } }), TypeError, "NUL");
  assertThrows(() => spawn("/bin/true", { ...plain, cwd: "/\0" }), TypeError, "NUL");
  assertThrows(() => spawn("/bin/true", { ...plain, stdin: "\0" }), TypeError, "NUL");
  for (const name of ["", "A=B"]) {
    assertThrows(() => spawn("/bin/true", { ...plain, env: { [name]: "1" } }), TypeError, name);
  }
});

Deno.test("spawn() without a pty reads a pipe, writes nowhere", async () => {
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

Deno.test("killAndReap() leaves no process and no zombie", () => {
  using pipe = new Pipe();
  const script = "trap '' TERM; read -r line";
  const pid = spawn("/bin/sh", { args: ["-c", script], env: {}, cwd: "/", stdin: pipe.readFd });
  killAndReap(pid);
  assertThrows(() => waitFor(pid), LibcError, "ECHILD");
});

Deno.test("waitFor() returns the exit code or signal", async () => {
  for (const code of [0, 255]) {
    assertEquals((await runScript(`exit ${code}`)).status, { kind: "exited", code });
  }
  const { status } = await runScript(`kill -${SIGNALS.SIGPIPE} $$`);
  assertEquals(status, { kind: "signaled", signal: SIGNALS.SIGPIPE });
});

Deno.test("a pidfd is readable once its child has ended", async () => {
  await using child = new PtyChild("/bin/cat");
  using poller = new Poller();
  const pidfd = openPidfd(child.pid);
  assertEquals(waitFor(child.pid), undefined);
  assertEquals(await poller.wait([{ fd: pidfd, read: true }], 0), []);
  assertEquals(kill(child.pid, "SIGKILL"), true);
  const ready = await poller.wait([{ fd: pidfd, read: true }], -1);
  assertEquals(ready.map(({ fd, readable }) => [fd, readable]), [[pidfd, true]]);
  assertEquals(kill(child.pid, "SIGKILL"), true, "a zombie");
  closeFd(pidfd);
  await child.end();
  assertEquals(assertThrows(() => waitFor(child.pid), LibcError).code, "ECHILD");
  for (const end of [kill, killGroup]) assertEquals(end(child.pid, "SIGTERM"), false);
  assertEquals(assertThrows(() => openPidfd(child.pid), LibcError).code, "ESRCH");
});

Deno.test("killGroup() kills children of the child", async () => {
  await using child = new PtyChild("/bin/sh", {
    args: ["-c", "trap '' HUP; sleep 60 & echo pid=$!.; wait"],
  });
  const grandchild = Number((await child.readUntil(".")).match(/pid=(\d+)\./)?.[1]);
  const pidfd = openPidfd(grandchild);
  using poller = new Poller();
  assertEquals(await poller.wait([{ fd: pidfd, read: true }], 0), []);
  assertEquals(killGroup(child.pid, "SIGKILL"), true);
  assertEquals((await poller.wait([{ fd: pidfd, read: true }], -1)).length, 1);
  closeFd(pidfd);
  assertEquals((await child.end()).status, { kind: "signaled", signal: SIGNALS.SIGKILL });
});

Deno.test("numbers that address several processes are refused", () => {
  for (const pid of [-1, 0, 1, 1.5, NaN, 2 ** 31]) {
    for (
      const call of [
        () => kill(pid, "SIGCONT"),
        () => killGroup(pid, "SIGCONT"),
        () => waitFor(pid),
        () => openPidfd(pid),
      ]
    ) assertThrows(call, RangeError, `Cannot address process ${pid}`);
  }
});

Deno.test("readProcFile() and readProcPids() see a child", async () => {
  const long = "x".repeat(100_000);
  const child = new Deno.Command("/bin/cat", {
    clearEnv: true,
    env: { A: long, B: "end" },
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const stdin = child.stdin.getWriter();
  const stdout = child.stdout.getReader();
  try {
    // A process has its environment once its program runs.
    await stdin.write(new Uint8Array(1));
    await stdout.read();
    const text = new TextDecoder().decode(readProcFile(`/proc/${child.pid}/environ`));
    const variables = text.split("\0").toSorted().map((each) => each.replace(long, "long"));
    assertEquals(variables, ["", "A=long", "B=end"]);
    const pids = readProcPids();
    for (const pid of [Deno.pid, child.pid]) assert(pids.includes(pid));
    assertEquals(pids.length, new Set(pids).size);
  } finally {
    await stdin.close();
    await stdout.cancel();
    await child.status;
  }
});

Deno.test("openPty() opens a nonblocking terminal of a given size", () => {
  using pty = openPty({ rows: 24, cols: 80 });
  assertEquals(pty.size(), { rows: 24, cols: 80 });
  assertMatch(pty.path, /^\/dev\/pts\/\d+$/);
  assert(Deno.statSync(pty.path).isCharDevice);
  assertEquals(readFd(pty.fd, new Uint8Array(16)), "again");
});

Deno.test("openPty() refuses an invalid size", () => {
  for (const rows of [0, -1, 1.5, 65536, NaN]) {
    assertThrows(() => openPty({ rows, cols: 80 }), RangeError, "Cannot set the terminal size");
    assertThrows(() => openPty({ rows: 24, cols: rows }), RangeError);
  }
});

const READY_THEN_SIZE_ON_WINCH = `
  trap 'stty size; kill $!; exit 0' WINCH
  sleep 60 &
  echo ready
  wait
`;

Deno.test("Pty.resize() sends SIGWINCH", async () => {
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

Deno.test("a disposed Pty hangs up on its child", async () => {
  const pty = openPty({ rows: 24, cols: 80 });
  const pid = spawn("/bin/cat", { args: [], env: {}, cwd: "/", pty });
  const pidfd = openPidfd(pid);
  using poller = new Poller();
  pty[Symbol.dispose]();
  assertEquals((await poller.wait([{ fd: pidfd, read: true }], -1)).length, 1);
  assertEquals(waitFor(pid), { kind: "signaled", signal: 1 });
  closeFd(pidfd);
});

Deno.test("a disposed Pty is closed once", () => {
  const pty = openPty({ rows: 24, cols: 80 });
  pty[Symbol.dispose]();
  pty[Symbol.dispose]();
  assertThrows(() => pty.size(), Error, "Cannot read the terminal size: the terminal is closed");
  assertThrows(() => pty.resize({ rows: 1, cols: 1 }), Error, "the terminal is closed");
});

Deno.test("windowSize() is the size of a terminal or undefined", async () => {
  using pty = openPty(DEFAULT_WINDOW_SIZE);
  assertEquals(windowSize(pty.fd), { rows: 50, cols: 220 });
  const { status } = await runScript(`stty rows 0 cols 0 <${pty.path}`);
  assertEquals([status, windowSize(pty.fd)], [SUCCESS, undefined]);
  using pipe = new Pipe();
  for (const fd of [pipe.readFd, -1]) assertEquals(windowSize(fd), undefined);
});

Deno.test("drainFd() reads 2 MB of a child in order", async () => {
  const lines = 260_000;
  await using child = new PtyChild("/bin/sh", {
    args: ["-c", `stty -opost; seq 1000000 ${1_000_000 + lines - 1}`],
  });
  const { bytes, status } = await child.end();
  assertEquals(status, { kind: "exited", code: 0 });
  const expected = Array.from({ length: lines }, (_, index) => `${1_000_000 + index}\n`).join("");
  assertEquals(bytes.length, expected.length);
  assertEquals(new TextDecoder().decode(bytes) === expected, true);
});

Deno.test("WriteQueue writes 256 KB through a terminal", async () => {
  const bytes = Uint8Array.from(
    { length: 1 << 18 },
    (_, index) => (index * 31 + (index >> 8)) & 0xff,
  );
  using temp = tempFolder();
  const folder = temp.path;
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
  const digest = await sha256(bytes);
  assertEquals(text, `ready\n${digest}  -\n`);
  closeFd(go);
});

Deno.test("silenceInput() drops typed input and undoes itself", async () => {
  using pty = openPty(DEFAULT_WINDOW_SIZE);
  using slave = Deno.openSync(pty.path, { read: true, write: true });
  const fd = libc().open(cString(pty.path), 2);
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
  // The next reader gets the next line only.
  writeFd(pty.fd, new TextEncoder().encode("next\n"));
  await readable(fd);
  assertEquals(textFrom(pty.fd), "next\r\n");
  const line = new Uint8Array(64);
  assertEquals(new TextDecoder().decode(line.subarray(0, slave.readSync(line) ?? 0)), "next\n");
  closeFd(fd);
});

/** Waits until the kernel has processed typed input. */
async function readable(fd: number): Promise<void> {
  using poller = new Poller();
  await poller.wait([{ fd, read: true }], 10_000);
}

function textFrom(fd: number): string {
  const buffer = new Uint8Array(64);
  const count = readFd(fd, buffer);
  return new TextDecoder().decode(buffer.subarray(0, Number(count)));
}
