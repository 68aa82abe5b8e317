import { assertEquals } from "@std/assert";
import { writeFd } from "../../../ffi/descriptors/fd.ts";
import {
  filledPipe,
  isInherited,
  readLineOf,
  refill,
} from "../../../ffi/processes/inherited_fd.ts";
import { Pipe } from "../../../ffi/descriptors/pipe.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const LIMITS = { limit: 100, patienceMs: 60_000 };

async function lineOf(fd: number, limits = LIMITS): Promise<string | undefined> {
  const line = await readLineOf(fd, limits);
  return line === undefined ? undefined : new TextDecoder().decode(line);
}

Deno.test("readLineOf() ends at a line end, the end or the limit", async () => {
  for (
    const [written, limit, expected] of [
      ["key\nmore", 100, "key"],
      ["key", 100, "key"],
      ["", 100, ""],
      ["long key", 4, "long"],
    ] as const
  ) {
    using pipe = filledPipe(bytes(written));
    assertEquals(await lineOf(pipe.readFd, { ...LIMITS, limit }), expected);
  }
});

Deno.test("readLineOf() waits for no end behind a line, and for nothing too long", async () => {
  using pipe = new Pipe();
  assertEquals(await lineOf(pipe.readFd, { ...LIMITS, patienceMs: 0 }), undefined);
  writeFd(pipe.writeFd, bytes("key\n"));
  assertEquals(await lineOf(pipe.readFd), "key");
});

Deno.test("an fd of this program's own is not inherited until it is refilled", async () => {
  using pipe = new Pipe();
  const { readFd } = pipe;
  assertEquals(isInherited(readFd), false);
  assertEquals(isInherited(1_000_000), false);
  refill(readFd, bytes("again"));
  assertEquals(isInherited(readFd), true);
  assertEquals([await lineOf(readFd), await lineOf(readFd)], ["again", ""]);
});
