import { assertEquals, assertThrows } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { readRegularFile, RegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";

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

Deno.test("readRegularFile() reads a file from anywhere in it to its end, through links too", () => {
  using ground = new Ground();
  assertEquals(ground.read("file"), "0123456789");
  assertEquals(ground.read("link", { from: 7 }), "789");
  assertEquals(ground.read("file", { from: 10 }), "");
  assertEquals(ground.read("file", { from: 99, limit: 100 }), "");
  assertEquals(ground.read("empty", { limit: 0 }), "");
  assertEquals(ground.read("file", { most: 3 }), "012");
  assertEquals(ground.read("file", { from: 8, most: 3 }), "89");
  // Files of the kernel tell no size.
  const status = readRegularFile("/proc/self/status", { limit: 1_000_000 });
  assertEquals(new TextDecoder().decode(status).split(":")[0], "Name");
});

Deno.test("readRegularFile() refuses what is no regular file, or too large, and waits for nobody", () => {
  using ground = new Ground();
  for (const name of ["fifo", "zero", "terminal", "folder"]) {
    const error = assertThrows(() => ground.read(name), UnfitFileError);
    assertEquals(error.message, `Cannot read "${ground.path}/${name}": it is no regular file`);
  }
  const error = assertThrows(() => ground.read("file", { limit: 9 }), UnfitFileError);
  assertEquals([error.path, error.reason], [
    `${ground.path}/file`,
    "it is larger than 0.000009 MB",
  ]);
  // A file without end takes no more memory than the limit.
  Deno.truncateSync(`${ground.path}/empty`, 2 ** 42);
  assertThrows(() => ground.read("empty", { limit: 1_000_000 }), UnfitFileError, "than 1 MB");
  assertThrows(() => ground.read("loop"));
  for (const name of ["missing", "dangling"]) {
    assertThrows(() => ground.read(name), Deno.errors.NotFound);
  }
});

Deno.test("RegularFile is read piece by piece, and stays the file that was opened", () => {
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

Deno.test("RegularFile takes no link, and nothing else that is no regular file", () => {
  using ground = new Ground();
  for (const name of ["link", "fifo", "zero", "terminal", "dangling", "loop", "folder"]) {
    const error = assertThrows(() => new RegularFile(`${ground.path}/${name}`), UnfitFileError);
    assertEquals(error.reason, "it is no regular file");
  }
  assertThrows(() => new RegularFile(`${ground.path}/none`), Deno.errors.NotFound);
});
