import { assert, assertEquals, assertThrows } from "@std/assert";
import { cString } from "../../../ffi/c_string.ts";
import { LibcError } from "../../../ffi/errno.ts";
import { closeFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { libc } from "../../../ffi/libc.ts";
import { openPty } from "../../../ffi/terminal/pty.ts";
import { spawn, type SpawnOptions } from "../../../ffi/processes/spawn.ts";
import { PtyChild, runScript } from "../terminal/pty_child.ts";
import { MISSING, NOWHERE } from "../../nowhere.ts";

const SUCCESS = { kind: "exited", code: 0 } as const;

Deno.test("spawn gives the child the pty as its controlling terminal, in a session it leads", async () => {
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

Deno.test("spawn lets Ctrl-C on the terminal interrupt the child", async () => {
  await using child = new PtyChild("/bin/sh", { args: ["-c", "echo ready; exec cat"] });
  await child.readUntil("ready");
  assertEquals(writeFd(child.pty.fd, Uint8Array.of(3)), 1);
  assertEquals((await child.end()).status, { kind: "signaled", signal: 2 });
});

Deno.test("spawn starts the child on a terminal that has its size already", async () => {
  const { text } = await runScript("stty size", { size: { rows: 33, cols: 111 } });
  assertEquals(text, "33 111\r\n");
});

Deno.test("spawn passes argv on exactly", async () => {
  const args = ["", " a  b", "--flag=é🙂", "line\nline", "'\"$x\\"];
  await using child = new PtyChild("/bin/sh", {
    args: ["-c", `stty -opost; printf '%s\\037' "$@"`, "sh", ...args],
  });
  assertEquals((await child.end()).text, args.map((arg) => `${arg}\x1f`).join(""));
});

Deno.test("spawn starts the child in cwd", async () => {
  const folder = await Deno.makeTempDir({ prefix: "spawn é '" });
  try {
    const { text } = await runScript("pwd -P", { cwd: folder });
    assertEquals(text, `${await Deno.realPath(folder)}\r\n`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("spawn gives the child the environment named and nothing else", async () => {
  await using child = new PtyChild("/usr/bin/env", { env: { A: "1", EMPTY: "", B: "x=y é" } });
  assertEquals((await child.end()).text, "A=1\r\nEMPTY=\r\nB=x=y é\r\n");
  await using bare = new PtyChild("/usr/bin/env", { env: {} });
  assertEquals((await bare.end()).text, "");
});

Deno.test("spawn hands the child the fds 0, 1 and 2 and no other, whatever is open here", async () => {
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

Deno.test("spawn resets every signal, also the SIGPIPE that Deno ignores, and blocks none", async () => {
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

Deno.test("spawn feeds fd 0 from a file byte for byte, NUL included", async () => {
  const input = crypto.getRandomValues(new Uint8Array(65536));
  const bytes = Uint8Array.from({ length: 1 << 20 }, (_, index) => input[index % 65536] ?? 0);
  bytes.fill(0, 1000, 2000);
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeFile(file, bytes);
    await using child = new PtyChild("/usr/bin/sha256sum", { stdin: file });
    const { text } = await child.end();
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
    assertEquals(text, `${digest}  -\r\n`);
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("spawn keeps the pty as the controlling terminal when fd 0 is a file", async () => {
  await using child = new PtyChild("/bin/sh", {
    args: ["-c", "tty; tty <&1; tty </dev/tty; : >&0 || echo read-only"],
    stdin: "/dev/null",
  });
  const [onIn, onOut, onTty] = (await child.end()).text.split("\r\n");
  assertEquals([onIn, onOut, onTty], ["not a tty", child.pty.path, "/dev/tty"]);
});

Deno.test("spawn looks a file without a slash up in this process's PATH", async () => {
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

Deno.test("spawn of a program that is not there throws ENOENT with its path", () => {
  assertEquals(failure(MISSING), { code: "ENOENT", path: MISSING });
  assertEquals(failure("no-such-claude"), { code: "ENOENT", path: "no-such-claude" });
});

Deno.test("spawn of something that cannot be executed throws EACCES or ENOEXEC with its path", async () => {
  assertEquals(failure("/etc/passwd"), { code: "EACCES", path: "/etc/passwd" });
  assertEquals(failure("/etc"), { code: "EACCES", path: "/etc" });
  const file = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(file, "no program");
    await Deno.chmod(file, 0o755);
    assertEquals(failure(file), { code: "ENOEXEC", path: file });
  } finally {
    await Deno.remove(file);
  }
});

Deno.test("spawn names the folder that cannot be entered", () => {
  assertEquals(failure("/bin/true", { cwd: MISSING }), { code: "ENOENT", path: MISSING });
  assertEquals(failure("/bin/true", { cwd: "" }), { code: "ENOENT", path: "" });
  assertEquals(failure("/bin/true", { cwd: "/etc/passwd" }), {
    code: "ENOTDIR",
    path: "/etc/passwd",
  });
});

Deno.test("spawn names the input file that cannot be read", () => {
  assertEquals(failure("/bin/true", { stdin: MISSING }), { code: "ENOENT", path: MISSING });
});

Deno.test("spawn throws E2BIG for an argument that Linux does not take", () => {
  assertEquals(failure("/bin/true", { args: ["x".repeat(128 * 1024)] }), {
    code: "E2BIG",
    path: "/bin/true",
  });
});

Deno.test("spawn refuses a NUL and a name that cannot stand in an environment", () => {
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

Deno.test("spawn and what belongs to it leave no fd and no zombie, and no fd to inherit", async () => {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--frozen", import.meta.resolve("../leak_probe.ts")],
    stderr: "inherit",
  }).output();
  assert(success);
  const { before, after, ...counts } = JSON.parse(new TextDecoder().decode(stdout));
  assertEquals(after, before);
  assertEquals(counts, { ended: 100, reaped: 100, opened: 4, closedOnExec: 4 });
});
