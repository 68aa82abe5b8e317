import { assertEquals, assertRejects } from "@std/assert";
import { LibcError } from "../../ffi/errno.ts";
import { makeFifo } from "../../ffi/fifo.ts";
import { readToEnd } from "../../ffi/read_to_end.ts";

Deno.test("readToEnd waits for a FIFO that nobody has opened yet, and for its end", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = `${folder}/fifo`;
    makeFifo(path);
    const text = "0123456789".repeat(50_000);
    const reading = readToEnd(path, 1_000_000);
    const writing = Deno.writeTextFile(path, text, { create: false });
    assertEquals(new TextDecoder().decode(await reading), text);
    await writing;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("readToEnd reads files, no further than it is told to, and says why it cannot", async () => {
  const path = import.meta.filename ?? "";
  assertEquals(await readToEnd(path, 1_000_000), await Deno.readFile(path));
  assertEquals((await readToEnd("/dev/zero", 100_000)).length, 131_072);
  const error = await assertRejects(() => readToEnd("/", 1), LibcError);
  assertEquals(error.code, "EISDIR");
  await assertRejects(() => readToEnd(`${path}/none`, 1), LibcError, "Not a directory");
});
