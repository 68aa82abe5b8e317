import { assertEquals, assertThrows } from "@std/assert";
import { LibcError } from "../../../ffi/errno.ts";
import { closeFd } from "../../../ffi/descriptors/fd.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";
import { kill, killGroup, openPidfd, waitFor } from "../../../ffi/processes/process.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { PtyChild, runScript } from "../terminal/pty_child.ts";

Deno.test("waitFor tells the exit code", async () => {
  for (const code of [0, 1, 42, 255]) {
    assertEquals((await runScript(`exit ${code}`)).status, { kind: "exited", code });
  }
});

Deno.test("waitFor tells the signal a child died of", async () => {
  for (const name of ["SIGKILL", "SIGTERM", "SIGHUP", "SIGPIPE"] as const) {
    const { status } = await runScript(`kill -${SIGNALS[name]} $$`);
    assertEquals(status, { kind: "signaled", signal: SIGNALS[name] });
  }
});

Deno.test("waitFor is undefined while the child runs, and ECHILD once it is reaped", async () => {
  await using child = new PtyChild("/bin/cat");
  assertEquals(waitFor(child.pid), undefined);
  kill(child.pid, "SIGKILL");
  await child.end();
  assertEquals(assertThrows(() => waitFor(child.pid), LibcError).code, "ECHILD");
});

Deno.test("openPidfd becomes readable when the child ends, before it is reaped", async () => {
  await using child = new PtyChild("/bin/cat");
  using poller = new Poller();
  const pidfd = openPidfd(child.pid);
  assertEquals(await poller.wait([{ fd: pidfd, read: true }], 0), []);
  assertEquals(kill(child.pid, "SIGKILL"), true);
  const ready = await poller.wait([{ fd: pidfd, read: true }], -1);
  assertEquals(ready.map(({ fd, readable }) => ({ fd, readable })), [{
    fd: pidfd,
    readable: true,
  }]);
  assertEquals(kill(child.pid, "SIGKILL"), true);
  closeFd(pidfd);
});

Deno.test("openPidfd, kill and killGroup of a child that is gone find nothing", async () => {
  await using child = new PtyChild("/bin/true");
  await child.end();
  assertEquals(kill(child.pid, "SIGTERM"), false);
  assertEquals(killGroup(child.pid, "SIGTERM"), false);
  assertEquals(assertThrows(() => openPidfd(child.pid), LibcError).code, "ESRCH");
});

Deno.test("killGroup reaches the child's own children", async () => {
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

Deno.test("kill, killGroup, waitFor and openPidfd refuse numbers that mean more than one process", () => {
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
