import { assertEquals, assertRejects } from "@std/assert";
import { makeFifo } from "../../../ffi/descriptors/pipe.ts";
import { readToEnd } from "../../../ffi/descriptors/read_to_end.ts";
import { LibcError } from "../../../ffi/errno.ts";

Deno.test("readToEnd() waits for who writes to a FIFO, and lets the program go on meanwhile", async () => {
  const folder = Deno.makeTempDirSync();
  makeFifo(`${folder}/fifo`);
  const reading = readToEnd(`${folder}/fifo`, { limit: 1_000_000 });
  // Opening it for writing takes a reader, who has to wait for the writer in turn.
  const fifo = await Deno.open(`${folder}/fifo`, { write: true });
  await fifo.write(new TextEncoder().encode("first "));
  await fifo.write(new Uint8Array(200_000).fill(120));
  fifo.close();
  const text = new TextDecoder().decode(await reading);
  assertEquals(text, `first ${"x".repeat(200_000)}`);
  Deno.removeSync(folder, { recursive: true });
});

Deno.test("readToEnd() reads files, takes no more than it has to, and says why it cannot", async () => {
  const path = import.meta.filename ?? "";
  assertEquals(await readToEnd(path, { limit: 1_000_000 }), Deno.readFileSync(path));
  assertEquals((await readToEnd("/dev/null", { limit: 1 })).length, 0);
  const { length } = await readToEnd("/dev/zero", { limit: 100_000 });
  assertEquals(length > 100_000 && length < 1_000_000, true);
  for (const [wrong, code] of [["/", "EISDIR"], [`${path}/x`, "ENOTDIR"]] as const) {
    const error = await assertRejects(() => readToEnd(wrong, { limit: 1 }), LibcError);
    assertEquals(error.code, code);
  }
});
