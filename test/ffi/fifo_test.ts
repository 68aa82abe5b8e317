import { assert, assertEquals, assertThrows } from "@std/assert";
import { drainFd } from "../../ffi/drain_fd.ts";
import { LibcError } from "../../ffi/errno.ts";
import { closeFd } from "../../ffi/fd.ts";
import { makeFifo, openFifo } from "../../ffi/fifo.ts";
import { Poller } from "../../ffi/poll.ts";
import { runScript } from "./pty_child.ts";
import { MISSING } from "../nowhere.ts";

Deno.test("makeFifo makes a FIFO for its owner only, and refuses a path that is taken", async () => {
  const folder = await Deno.makeTempDir({ prefix: "fifo é " });
  try {
    const path = `${folder}/events`;
    makeFifo(path);
    const { isFifo, mode } = await Deno.stat(path);
    assert(isFifo);
    assertEquals((mode ?? 0) & 0o777, 0o600);
    const error = assertThrows(() => makeFifo(path), LibcError);
    assertEquals([error.call, error.code, error.path], ["mkfifo", "EEXIST", path]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("openFifo of a path that is not there throws ENOENT", () => {
  const error = assertThrows(() => openFifo(MISSING), LibcError);
  assertEquals([error.code, error.path], ["ENOENT", MISSING]);
});

Deno.test("openFifo brings the lines of one writer after the other and never hangs up", async () => {
  const folder = await Deno.makeTempDir();
  makeFifo(`${folder}/events`);
  const fd = openFifo(`${folder}/events`);
  using poller = new Poller();
  try {
    const buffer = new Uint8Array(65536);
    let text = "";
    const onBytes = (bytes: Uint8Array) => text += new TextDecoder().decode(bytes);
    for (const line of ["one", "two", "three"]) {
      const { status } = await runScript(`echo ${line} >events`, { cwd: folder });
      assertEquals(status, { kind: "exited", code: 0 });
      assertEquals(await poller.wait([{ fd, read: true }], -1), [
        { fd, readable: true, writable: false, hangup: false },
      ]);
      assertEquals(drainFd(fd, { buffer, onBytes }), "again");
      assertEquals(await poller.wait([{ fd, read: true }], 0), []);
    }
    assertEquals(text, "one\ntwo\nthree\n");
  } finally {
    closeFd(fd);
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("drainFd stops after maxReads and says that there is more", async () => {
  const folder = await Deno.makeTempDir();
  makeFifo(`${folder}/events`);
  const fd = openFifo(`${folder}/events`);
  try {
    await runScript("printf 12345 >events", { cwd: folder });
    const seen: number[] = [];
    const options = {
      buffer: new Uint8Array(2),
      onBytes: (bytes: Uint8Array) => void seen.push(...bytes),
      maxReads: 2,
    };
    assertEquals(drainFd(fd, options), "more");
    assertEquals(seen.length, 4);
    assertEquals(drainFd(fd, options), "again");
    assertEquals(String.fromCharCode(...seen), "12345");
  } finally {
    closeFd(fd);
    await Deno.remove(folder, { recursive: true });
  }
});
