import { assert, assertEquals } from "@std/assert";
import { closeFd, readFd } from "../../ffi/descriptors/fd.ts";
import { Outlet } from "../../ffi/descriptors/outlet.ts";
import { makeFifo, openFifo } from "../../ffi/descriptors/pipe.ts";
import { StopSignals } from "../../src/driver/stop_signals.ts";
import { awaitReaders } from "../../src/run/await_readers.ts";

/** An outlet on a pipe that holds less than it owes. */
function owing(stack: DisposableStack): { readonly outlet: Outlet; readonly fd: number } {
  const folder = Deno.makeTempDirSync();
  stack.defer(() => Deno.removeSync(folder, { recursive: true }));
  makeFifo(`${folder}/fifo`);
  const fd = openFifo(`${folder}/fifo`);
  stack.defer(() => closeFd(fd));
  const outlet = stack.use(new Outlet(fd));
  outlet.write("x".repeat(1_000_000));
  assert(outlet.pending > 0);
  return { outlet, fd };
}

Deno.test("awaitReaders() waits until everything is read", async () => {
  using stack = new DisposableStack();
  const { outlet, fd } = owing(stack);
  using signals = new StopSignals({ listen: false });
  const waiting = awaitReaders([{ outlet, until: Infinity }], signals);
  let read = 0;
  const buffer = new Uint8Array(65536);
  const reader = setInterval(() => {
    const count = readFd(fd, buffer);
    if (typeof count === "number") read += count;
  }, 1);
  assertEquals(await waiting, undefined);
  clearInterval(reader);
  for (let count = readFd(fd, buffer); typeof count === "number"; count = readFd(fd, buffer)) {
    read += count;
  }
  assertEquals([outlet.pending, read], [0, 1_000_000]);
});

Deno.test("awaitReaders() hears signals that came before, and waits no longer after a second", async () => {
  using stack = new DisposableStack();
  const { outlet } = owing(stack);
  using signals = new StopSignals({ listen: false });
  signals.raise("SIGPIPE");
  signals.raise("SIGTERM");
  signals.raise("SIGINT");
  assertEquals(await awaitReaders([{ outlet, until: Infinity }], signals), "SIGTERM");
  assert(outlet.pending > 0);
  assertEquals(signals.onArrival, undefined);
});
