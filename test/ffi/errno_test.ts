import { assertEquals, assertThrows } from "@std/assert";
import { checked, ERRNO, lastErrno, LibcError } from "../../ffi/errno.ts";
import { libc } from "../../ffi/libc.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";

Deno.test("LibcError names the action, the file, the call and the error number", () => {
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

Deno.test("LibcError keeps the number of an error that libc has no name for", () => {
  const error = new LibcError(9999, { call: "open", action: "open it" });
  assertEquals([error.errno, error.code, error.path], [9999, "errno 9999", undefined]);
});

Deno.test("ERRNO has libc's own numbers", () => {
  const codes = Object.values(ERRNO).map((errno) =>
    new LibcError(errno, { call: "", action: "" }).code
  );
  assertEquals(codes, Object.keys(ERRNO));
});

Deno.test("lastErrno is that of the synchronous call while a nonblocking one is pending", async () => {
  using poller = new Poller();
  const wait = poller.wait([], -1);
  for (let round = 0; round < 1000; round++) {
    assertEquals([libc().close(-1), lastErrno()], [-1, ERRNO.EBADF]);
    assertEquals([libc().kill(0x7fffffff, 0), lastErrno()], [-1, ERRNO.ESRCH]);
  }
  poller.wake();
  assertEquals(await wait, []);
});

Deno.test("checked passes results on and throws -1 as a LibcError", () => {
  assertEquals(checked(0, { call: "close", action: "close it" }), 0);
  assertEquals(checked(7, { call: "open", action: "open it" }), 7);
  const attempt = { call: "close", action: "close it" };
  assertEquals(
    assertThrows(() => checked(libc().close(-1), attempt), LibcError).code,
    "EBADF",
  );
});
