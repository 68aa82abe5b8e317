import { assert, assertEquals, assertThrows } from "@std/assert";
import { closeFd, fdStat, readFd, writeFd } from "../../../ffi/descriptors/fd.ts";
import { type Received, receiveFds, sendFds } from "../../../ffi/descriptors/passed_fds.ts";
import { Pipe } from "../../../ffi/descriptors/pipe.ts";
import { acceptUnix, connectUnix, listenUnix } from "../../../ffi/descriptors/unix_socket.ts";
import { hungUp } from "./hung_up.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const bytes = new TextEncoder().encode("these");

/** Two ends of a connection. */
async function pair() {
  const folder = await Deno.makeTempDir();
  const listener = listenUnix(`${folder}/socket`, { backlog: 1 });
  const here = connectUnix(`${folder}/socket`);
  const there = acceptUnix(listener) ?? -1;
  closeFd(listener);
  await Deno.remove(folder, { recursive: true });
  return { here, there };
}

function received(fd: number): Received {
  const got = receiveFds(fd, { most: 100 });
  assert(typeof got === "object", `${got}`);
  return got;
}

Deno.test("sendFds() gives fds of files that receiveFds() has as its own, and no child inherits", async () => {
  const { here, there } = await pair();
  using pipe = new Pipe();
  assertEquals(receiveFds(there, { most: 100 }), "again");
  assertEquals(sendFds(here, { bytes, fds: [pipe.readFd, pipe.writeFd, 0] }), 5);
  const got = received(there);
  assertEquals([text(got.bytes), got.isCut, got.fds.length], ["these", false, 3]);
  const [read = -1, write = -1, zero = -1] = got.fds;
  assertEquals(fdStat(zero).id, fdStat(0).id);
  writeFd(write, bytes);
  assertEquals(readFd(read, new Uint8Array(8)), 5);
  for (const fd of got.fds) {
    const flags = /^flags:\s*(\d+)$/mu.exec(Deno.readTextFileSync(`/proc/self/fdinfo/${fd}`))?.[1];
    assertEquals(parseInt(flags ?? "", 8) & 0o2000000, 0o2000000);
    closeFd(fd);
  }
  closeFd(here);
  await hungUp(there);
  assertEquals(receiveFds(there, { most: 100 }), "end");
  assertEquals(sendFds(there, { bytes, fds: [0] }), "end");
  closeFd(there);
});

Deno.test("fds arrive with the first of the bytes, in pieces of any size", async () => {
  const { here, there } = await pair();
  sendFds(here, { bytes, fds: [0, 1] });
  const first = receiveFds(there, { most: 2 });
  assert(typeof first === "object");
  assertEquals([text(first.bytes), first.fds.length], ["th", 2]);
  const rest = received(there);
  assertEquals([text(rest.bytes), rest.fds], ["ese", []]);
  for (const fd of [...first.fds, here, there]) closeFd(fd);
});

Deno.test("more fds than there may be are neither sent nor taken", async () => {
  const { here, there } = await pair();
  assertThrows(() => sendFds(here, { bytes, fds: Array(9).fill(0) }), RangeError);
  assertThrows(() => sendFds(here, { bytes: new Uint8Array(), fds: [0] }), RangeError);
  sendFds(here, { bytes, fds: Array(8).fill(0) });
  const most = received(there);
  assertEquals([most.fds.length, most.isCut], [8, false]);
  for (const fd of [...most.fds, here, there]) closeFd(fd);
});

Deno.test("what was sent and not taken before the other side has gone can still be taken", async () => {
  const { here, there } = await pair();
  using pipe = new Pipe();
  sendFds(here, { bytes, fds: [pipe.writeFd] });
  closeFd(here);
  const { fds } = received(there);
  assertEquals(fds.length, 1);
  for (const fd of fds) closeFd(fd);
  await hungUp(there);
  assertEquals(receiveFds(there, { most: 1 }), "end");
  closeFd(there);
});
