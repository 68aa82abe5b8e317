import { assertEquals, assertThrows } from "@std/assert";
import { makeFifo } from "../../ffi/descriptors/pipe.ts";
import { LibcError } from "../../ffi/errno.ts";
import { libc } from "../../ffi/libc.ts";
import { startChild } from "../../src/driver/start_child.ts";

/** The children of this process, those among them that wait to be reaped. */
function children(): readonly string[] {
  return [...Deno.readDirSync("/proc/self/task")].flatMap(({ name }) =>
    Deno.readTextFileSync(`/proc/self/task/${name}/children`).split(" ").filter((pid) => pid !== "")
  );
}

Deno.test("a child that cannot be watched is killed and reaped, and so is its guard", () => {
  const folder = Deno.makeTempDirSync();
  makeFifo(`${folder}/hooks.fifo`);
  Deno.mkdirSync(`${folder}/payloads`);
  const symbols = libc() as { syscall: unknown };
  const { syscall } = symbols;
  const before = children();
  try {
    symbols.syscall = () => -1n;
    const start = () =>
      startChild({
        binary: "/bin/sleep",
        args: ["600"],
        env: {},
        cwd: "/",
        size: { rows: 24, cols: 80 },
        sandbox: {
          configDir: folder,
          fifoPath: `${folder}/hooks.fifo`,
          payloadDir: `${folder}/payloads`,
          secret: "s",
          stdinPath: undefined,
        },
      });
    assertThrows(start, LibcError, "pidfd_open");
    assertEquals(children(), before);
  } finally {
    symbols.syscall = syscall;
    Deno.removeSync(folder, { recursive: true });
  }
});
