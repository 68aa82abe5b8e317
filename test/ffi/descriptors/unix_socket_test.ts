import { assertEquals, assertThrows } from "@std/assert";
import { LibcError } from "../../../ffi/errno.ts";
import { libc } from "../../../ffi/libc.ts";
import { closeFd, readFd, sendFd } from "../../../ffi/descriptors/fd.ts";
import {
  acceptUnix,
  connectUnix,
  isUnixListener,
  listenUnix,
  MAX_SOCKET_PATH,
  peerOf,
  waitForNobody,
} from "../../../ffi/descriptors/unix_socket.ts";
import { hungUp } from "./hung_up.ts";

/** Of ioctl(2): whether a descriptor waits for nobody. */
const FIONBIO = 0x5421n;

Deno.test("connectUnix() gives a stream in both directions, and waits for nobody", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/socket`;
  const refusal = assertThrows(() => connectUnix(path), LibcError);
  assertEquals([refusal.code, refusal.path], ["ENOENT", path]);
  const listener = Deno.listen({ transport: "unix", path });
  const fd = connectUnix(path);
  const there = await listener.accept();
  const buffer = new Uint8Array(8);
  assertEquals(readFd(fd, buffer), "again");
  sendFd(fd, new TextEncoder().encode("hi"));
  assertEquals(await there.read(buffer), 2);
  await there.write(new TextEncoder().encode("you"));
  assertEquals(readFd(fd, buffer), 3);
  there.close();
  await hungUp(fd);
  assertEquals(readFd(fd, buffer), "end");
  closeFd(fd);
  listener.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a socket whose other side has gone without reading is at its end", async () => {
  const folder = await Deno.makeTempDir();
  const listener = Deno.listen({ transport: "unix", path: `${folder}/socket` });
  const fd = connectUnix(`${folder}/socket`);
  const there = await listener.accept();
  sendFd(fd, new TextEncoder().encode("a prompt"));
  there.close();
  await hungUp(fd);
  assertEquals(readFd(fd, new Uint8Array(8)), "end");
  closeFd(fd);
  listener.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("connectUnix() takes a path of any length that a socket can have", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/${"x".repeat(MAX_SOCKET_PATH - folder.length - 1)}`;
  const listener = Deno.listen({ transport: "unix", path });
  closeFd(connectUnix(path));
  assertThrows(() => connectUnix(`${path}x`), RangeError, "longer than one may be");
  listener.close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("listenUnix() and acceptUnix() take who connects, and wait for nobody", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/socket`;
  const listener = listenUnix(path, { backlog: 4 });
  const isListener = [listener, 0, 1_000_000].map(isUnixListener);
  assertEquals(isListener, [true, false, false]);
  assertEquals(acceptUnix(listener), undefined);
  // As systemd hands one over, unless it is told otherwise.
  libc().ioctl(listener, FIONBIO, Int32Array.of(0));
  waitForNobody(listener);
  assertEquals(acceptUnix(listener), undefined);
  const here = connectUnix(path);
  const there = acceptUnix(listener) ?? -1;
  sendFd(here, new TextEncoder().encode("hi"));
  assertEquals(readFd(there, new Uint8Array(8)), 2);
  assertEquals(peerOf(there), { pid: Deno.pid, uid: Deno.uid() ?? -1 });
  assertEquals(peerOf(here), { pid: Deno.pid, uid: Deno.uid() ?? -1 });
  const refusal = assertThrows(() => listenUnix(path, { backlog: 4 }), LibcError);
  assertEquals([refusal.code, refusal.path], ["EADDRINUSE", path]);
  assertThrows(() => listenUnix(`/tmp/${"x".repeat(MAX_SOCKET_PATH)}`, { backlog: 4 }), RangeError);
  for (const fd of [here, there, listener]) closeFd(fd);
  await Deno.remove(folder, { recursive: true });
});
