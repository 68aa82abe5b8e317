import { assertEquals, assertThrows } from "@std/assert";
import { makeFifo } from "../../ffi/descriptors/pipe.ts";
import { Poller } from "../../ffi/descriptors/poll.ts";
import { LibcError } from "../../ffi/errno.ts";
import { FolderWatch } from "../../ffi/files/folder_watch.ts";
import { OpenFolder } from "../../ffi/files/open_folder.ts";
import { readRegularFile, RegularFile, UnfitFileError } from "../../ffi/files/regular_file.ts";

type ReadOptions = Partial<Parameters<typeof readRegularFile>[1]>;

/** A folder with one thing of each kind, removed at the end of the test. */
class Ground implements Disposable {
  readonly path = Deno.makeTempDirSync();

  constructor() {
    Deno.writeTextFileSync(`${this.path}/file`, "0123456789");
    Deno.writeTextFileSync(`${this.path}/empty`, "");
    Deno.symlinkSync("file", `${this.path}/link`);
    Deno.symlinkSync("/dev/zero", `${this.path}/zero`);
    Deno.symlinkSync("/dev/tty", `${this.path}/terminal`);
    Deno.symlinkSync("nowhere", `${this.path}/dangling`);
    Deno.symlinkSync("loop", `${this.path}/loop`);
    Deno.mkdirSync(`${this.path}/folder`);
    makeFifo(`${this.path}/fifo`);
  }

  read(name: string, { limit = 10, ...part }: ReadOptions = {}): string {
    const bytes = readRegularFile(`${this.path}/${name}`, { limit, ...part });
    return new TextDecoder().decode(bytes);
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

Deno.test("readRegularFile() reads parts of a file, through links too", () => {
  using ground = new Ground();
  assertEquals(ground.read("file"), "0123456789");
  assertEquals(ground.read("link", { from: 7 }), "789");
  assertEquals(ground.read("file", { from: 10 }), "");
  assertEquals(ground.read("file", { from: 99, limit: 100 }), "");
  assertEquals(ground.read("empty", { limit: 0 }), "");
  assertEquals(ground.read("file", { most: 3 }), "012");
  assertEquals(ground.read("file", { from: 8, most: 3 }), "89");
  // Files of the kernel have size 0.
  const status = readRegularFile("/proc/self/status", { limit: 1_000_000 });
  assertEquals(new TextDecoder().decode(status).split(":")[0], "Name");
});

Deno.test("readRegularFile() refuses other files and files too large", () => {
  using ground = new Ground();
  for (const name of ["fifo", "zero", "terminal", "folder"]) {
    const error = assertThrows(() => ground.read(name), UnfitFileError);
    assertEquals(error.message, `Cannot read "${ground.path}/${name}": it is not a regular file`);
  }
  const error = assertThrows(() => ground.read("file", { limit: 9 }), UnfitFileError);
  assertEquals([error.path, error.reason], [
    `${ground.path}/file`,
    "it is larger than 0.000009 MB",
  ]);
  // An endless file takes no more memory than the limit.
  Deno.truncateSync(`${ground.path}/empty`, 2 ** 42);
  assertThrows(() => ground.read("empty", { limit: 1_000_000 }), UnfitFileError, "than 1 MB");
  assertThrows(() => ground.read("loop"));
  for (const name of ["missing", "dangling"]) {
    assertThrows(() => ground.read(name), Deno.errors.NotFound);
  }
});

Deno.test("RegularFile stays the file that was opened", () => {
  using ground = new Ground();
  using file = new RegularFile(`${ground.path}/file`);
  const buffer = new Uint8Array(4);
  const read = (at: number) => new TextDecoder().decode(buffer.subarray(0, file.read(buffer, at)));
  assertEquals([read(0), read(8), read(10), read(99)], ["0123", "89", "", ""]);
  Deno.removeSync(`${ground.path}/file`);
  Deno.writeTextFileSync(`${ground.path}/file`, "another");
  assertEquals(read(4), "4567");
  using other = new RegularFile(`${ground.path}/file`);
  assertEquals(other.id === file.id, false);
});

Deno.test("RegularFile refuses links and other files", () => {
  using ground = new Ground();
  for (const name of ["link", "fifo", "zero", "terminal", "dangling", "loop", "folder"]) {
    const error = assertThrows(() => new RegularFile(`${ground.path}/${name}`), UnfitFileError);
    assertEquals(error.reason, "it is not a regular file");
  }
  assertThrows(() => new RegularFile(`${ground.path}/none`), Deno.errors.NotFound);
});

Deno.test("OpenFolder opens a folder below another without links", () => {
  const base = Deno.makeTempDirSync();
  Deno.mkdirSync(`${base}/a/b`, { recursive: true });
  Deno.symlinkSync("a", `${base}/link`);
  Deno.symlinkSync("b", `${base}/a/link`);
  Deno.writeTextFileSync(`${base}/a/file`, "");
  using found = OpenFolder.find(base, ["a", "b"]);
  assertEquals(found !== undefined, true);
  const others = [["link", "b"], ["a", "link"], ["a", "file"], ["a", "none"], ["a", "none", "b"]];
  for (const names of others) assertEquals(OpenFolder.find(base, names), undefined);
  assertEquals(OpenFolder.find(`${base}/none`, []), undefined);
  Deno.removeSync(base, { recursive: true });
});

Deno.test("OpenFolder stays the folder that was opened", () => {
  const base = Deno.makeTempDirSync();
  Deno.mkdirSync(`${base}/a`);
  Deno.writeTextFileSync(`${base}/a/one`, "");
  using found = OpenFolder.find(base, ["a"]);
  Deno.renameSync(`${base}/a`, `${base}/moved`);
  Deno.symlinkSync("/etc", `${base}/a`);
  assertEquals(found?.names({ most: 10 }), ["one"]);
  Deno.removeSync(base, { recursive: true });
  assertEquals(found?.names({ most: 10 }), []);
});

Deno.test("OpenFolder stops listing names at its limit", () => {
  const base = Deno.makeTempDirSync();
  const long = "x".repeat(200);
  for (let number = 0; number < 400; number++) Deno.mkdirSync(`${base}/${long}${number}`);
  using found = OpenFolder.find(base, []);
  assertEquals((found?.names({ most: 1 }).length ?? 0) < 400, true);
  assertEquals(found?.names({ most: Infinity }).length, 400);
  Deno.removeSync(base, { recursive: true });
});

Deno.test("FolderWatch wakes for each change in a folder", async () => {
  const folder = Deno.makeTempDirSync();
  using poller = new Poller();
  using watch = new FolderWatch();
  watch.add(folder);
  const wakes = async () => {
    const ready = await poller.wait([{ fd: watch.fd, read: true }], 0);
    watch.readChanges();
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
  // A program that another test starts at that moment may hold the file.
  let isGone = false;
  while (!isGone) {
    const ready = await poller.wait([{ fd: watch.fd, read: true }], 10_000);
    assertEquals(ready.length, 1);
    isGone = watch.readChanges()?.isGone === true;
  }
});

Deno.test("FolderWatch refuses files and missing folders", () => {
  using watch = new FolderWatch();
  const error = assertThrows(() => watch.add("/nowhere"), LibcError);
  assertEquals([error.code, error.path], ["ENOENT", "/nowhere"]);
  assertEquals(assertThrows(() => watch.add("/etc/passwd"), LibcError).code, "ENOTDIR");
});
