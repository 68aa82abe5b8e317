import { assertEquals, assertThrows } from "@std/assert";
import { LibcError } from "../../../ffi/errno.ts";
import { closeFd, readFd, sendFd } from "../../../ffi/descriptors/fd.ts";
import { connectUnix, MAX_SOCKET_PATH } from "../../../ffi/descriptors/unix_socket.ts";

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
  assertThrows(() => connectUnix(`${path}x`), RangeError, "longer than a socket's may be");
  listener.close();
  await Deno.remove(folder, { recursive: true });
});
