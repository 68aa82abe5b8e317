import { assert, assertEquals, assertInstanceOf, assertMatch, assertThrows } from "@std/assert";
import fc from "fast-check";
import { cString, cStringArray, escapedText } from "../../ffi/c_string.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { checked, ERRNO, lastErrno, LibcError } from "../../ffi/errno.ts";
import { libc, libcInventory } from "../../ffi/libc.ts";
import { LibcUnavailableError, type Platform, platformProblem } from "../../ffi/platform.ts";
import { signalName, SIGNALS } from "../../ffi/processes/signals.ts";

Deno.test("cString() ends the UTF-8 bytes with one NUL", () => {
  assertEquals([...cString("é")], [0xc3, 0xa9, 0]);
  assertEquals([...cString("")], [0]);
  assertThrows(() => cString("a\0b"), TypeError, 'Cannot pass "a\\u0000b" to libc: it holds a NUL');
  const error = assertThrows(() => cString("x".repeat(1e6) + "\0"), TypeError);
  assert(error.message.length < 120);
});

Deno.test("cStringArray() points to each text and ends with NULL", () => {
  const text = fc.string({ unit: "grapheme" }).map((value) => value.replaceAll("\0", ""));
  const property = fc.property(fc.array(text), (texts) => {
    const array = cStringArray(texts);
    const pointers = new BigUint64Array(array.buffer, 0, texts.length + 1);
    const read = [...pointers].map((pointer) => {
      const object = Deno.UnsafePointer.create(pointer);
      return object === null ? null : Deno.UnsafePointerView.getCString(object);
    });
    assertEquals(read, [...texts, null]);
  });
  fc.assert(property, { numRuns: 30 });
});

Deno.test("escapedText() keeps bytes that are not UTF-8", () => {
  const bytes = Uint8Array.from({ length: 255 }, (_, index) => index + 1);
  assertEquals(cString(escapedText(bytes)), Uint8Array.of(...bytes, 0));
  const mixed = `ä😀${escapedText(Uint8Array.of(0xff))}`;
  assertEquals(cString(mixed), Uint8Array.of(...new TextEncoder().encode("ä😀"), 0xff, 0));
});

Deno.test("LibcError names action, file, call and error number", () => {
  const error = new LibcError(2, { call: "open", action: "open the FIFO", path: "/none" });
  assertEquals(
    error.message,
    'Cannot open the FIFO "/none": No such file or directory (open: ENOENT)',
  );
  const { name, call, errno, code, path } = error;
  assertEquals({ name, call, errno, code, path }, {
    name: "LibcError",
    call: "open",
    errno: 2,
    code: "ENOENT",
    path: "/none",
  });
});

Deno.test("LibcError keeps a number without a name", () => {
  const error = new LibcError(9999, { call: "open", action: "open it" });
  assertEquals([error.errno, error.code, error.path], [9999, "errno 9999", undefined]);
  for (const [name, errno] of Object.entries(ERRNO)) {
    assertEquals(new LibcError(errno, { call: "", action: "" }).code, name);
  }
});

Deno.test("lastErrno() ignores a pending nonblocking call", async () => {
  using poller = new Poller();
  const wait = poller.wait([], -1);
  for (let round = 0; round < 100; round++) {
    assertEquals([libc().close(-1), lastErrno()], [-1, ERRNO.EBADF]);
    assertEquals([libc().kill(0x7fffffff, 0), lastErrno()], [-1, ERRNO.ESRCH]);
  }
  poller.wake();
  assertEquals(await wait, []);
});

Deno.test("checked() throws a LibcError for -1", () => {
  assertEquals(checked(0, { call: "close", action: "close it" }), 0);
  assertEquals(checked(7, { call: "open", action: "open it" }), 7);
  const attempt = { call: "close", action: "close it" };
  assertEquals(
    assertThrows(() => checked(libc().close(-1), attempt), LibcError).code,
    "EBADF",
  );
});

Deno.test("libc() opens all its functions once", () => {
  assert(libc() === libc());
  const { platform, functions, missing } = libcInventory();
  assertEquals(missing, []);
  assertEquals(functions, Object.keys(libc()).length);
  assertEquals([platform.os, platform.arch], ["linux", "x86_64"]);
  assertMatch(platform.glibc ?? "", /^2\.\d+$/);
});

Deno.test("SIGNALS has the numbers of x86_64 Linux", () => {
  const names =
    "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD " +
    "CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS";
  const numbered = names.split(" ").map((name, index) => [`SIG${name}`, index + 1]);
  assertEquals(Object.entries(SIGNALS), numbered);
  assertEquals([signalName(15), signalName(40)], ["SIGTERM", "signal 40"]);
});

const GOOD: Platform = {
  os: "linux",
  arch: "x86_64",
  env: "gnu",
  ffiPermission: "granted",
  glibc: "2.34",
};

Deno.test("platformProblem() accepts x86_64 Linux with glibc 2.34 or newer", () => {
  for (const glibc of ["2.34", undefined, "2.100", "3.0"]) {
    assertEquals(platformProblem({ ...GOOD, glibc }), undefined);
  }
});

Deno.test("platformProblem() says what it found and what to do", () => {
  const needs = "claude-print needs x86_64 Linux with glibc 2.34 or newer";
  const container = "container or virtual machine";
  const macOs = { os: "darwin", arch: "aarch64", env: undefined } as const;
  for (
    const [found, ...parts] of [
      [macOs, needs, "found darwin on aarch64", container],
      [{ os: "windows", env: "msvc" }, needs, "found windows on x86_64", container],
      [{ arch: "aarch64" }, needs, "found Linux on aarch64", "linux/amd64"],
      [{ env: "musl" }, needs, "found Linux with musl as its C library", "instead of Alpine"],
      [{ glibc: "2.31" }, needs, "found glibc 2.31", "newer system"],
      [{ ffiPermission: "prompt" }, 'ffi permission is "prompt"', "deno run -A"],
    ] as const
  ) {
    const problem = platformProblem({ ...GOOD, ...found });
    assertInstanceOf(problem, LibcUnavailableError);
    const text = `${problem.message}\n${problem.suggestion}`;
    for (const part of ["Cannot use libc: ", ...parts]) assert(text.includes(part), part);
  }
});
