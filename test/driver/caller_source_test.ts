import { assertEquals } from "@std/assert";
import { writeFd } from "../../ffi/descriptors/fd.ts";
import { Pipe } from "../../ffi/descriptors/pipe.ts";
import { CallerSource } from "../../src/driver/sources/caller/caller_source.ts";

const LONGEST = 20;

function heard(...written: readonly string[]) {
  using pipe = new Pipe();
  const caller = new CallerSource(pipe.readFd, { longest: LONGEST });
  const inputs = written.flatMap((text) => {
    writeFd(pipe.writeFd, new TextEncoder().encode(text));
    return caller.take([{ fd: pipe.readFd, readable: true, writable: false, hangup: false }]);
  });
  return { inputs, waitsFor: caller.interests.length };
}

Deno.test("CallerSource ends at a line that is longer than it may be before it has come whole", () =>
  assertEquals(heard("x".repeat(LONGEST), "x"), {
    inputs: [{
      type: "unreadable",
      reason: `Cannot read a line of stdin: it is longer than ${LONGEST} bytes`,
    }],
    waitsFor: 0,
  }));

Deno.test("CallerSource counts the bytes of one line alone", () =>
  assertEquals(heard(`${" ".repeat(LONGEST)}\n`, "\n".repeat(LONGEST), " ".repeat(LONGEST)), {
    inputs: [],
    waitsFor: 1,
  }));
