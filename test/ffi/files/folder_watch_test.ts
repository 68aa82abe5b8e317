import { assertEquals, assertThrows } from "@std/assert";
import { LibcError } from "../../../ffi/errno.ts";
import { FolderWatch } from "../../../ffi/files/folder_watch.ts";
import { Poller } from "../../../ffi/descriptors/poll.ts";

Deno.test("FolderWatch wakes when something in a folder is made, moved, written to or removed", async () => {
  const folder = Deno.makeTempDirSync();
  using poller = new Poller();
  using watch = new FolderWatch();
  watch.add(folder);
  const wakes = async () => {
    const ready = await poller.wait([{ fd: watch.fd, read: true }], 0);
    watch.heed();
    return ready.length > 0;
  };
  assertEquals(await wakes(), false);
  const file = Deno.openSync(`${folder}/file`, { create: true, append: true });
  assertEquals([await wakes(), await wakes()], [true, false]);
  file.writeSync(new Uint8Array([1]));
  assertEquals([await wakes(), await wakes()], [true, false]);
  Deno.removeSync(`${folder}/file`);
  assertEquals([await wakes(), await wakes()], [true, false]);
  file.close();
  const outside = Deno.makeTempFileSync();
  Deno.renameSync(outside, `${folder}/file`);
  assertEquals([await wakes(), await wakes()], [true, false]);
  Deno.removeSync(folder, { recursive: true });
  // A program that another test is just starting may hold it for a moment.
  let isGone = false;
  while (!isGone) {
    const ready = await poller.wait([{ fd: watch.fd, read: true }], 10_000);
    assertEquals(ready.length, 1);
    isGone = watch.heed()?.isGone === true;
  }
});

Deno.test("FolderWatch takes folders only, and says what is wrong", () => {
  using watch = new FolderWatch();
  const error = assertThrows(() => watch.add("/nowhere"), LibcError);
  assertEquals([error.code, error.path], ["ENOENT", "/nowhere"]);
  assertEquals(assertThrows(() => watch.add("/etc/passwd"), LibcError).code, "ENOTDIR");
});
