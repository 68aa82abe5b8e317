import { makeFifo } from "../../ffi/descriptors/pipe.ts";
import { libc } from "../../ffi/libc.ts";
import { startChild } from "../../src/driver/start_child.ts";

/** The children of this process, those among them that wait to be reaped. */
function children(): readonly string[] {
  return [...Deno.readDirSync("/proc/self/task")].flatMap(({ name }) =>
    Deno.readTextFileSync(`/proc/self/task/${name}/children`).split(" ").filter((pid) => pid !== "")
  );
}

const [folder = ""] = Deno.args;
makeFifo(`${folder}/hooks.fifo`);
Deno.mkdirSync(`${folder}/payloads`);
(libc() as { syscall: unknown }).syscall = () => -1n;
let failure = "";
try {
  startChild({
    binary: "/bin/sleep",
    args: ["600"],
    env: {},
    cwd: "/",
    size: { rows: 24, cols: 80 },
    sandbox: {
      configDir: folder,
      twinDir: `${folder}/twin`,
      fifoPath: `${folder}/hooks.fifo`,
      payloadDir: `${folder}/payloads`,
      secret: "s",
      stdinPath: undefined,
    },
  });
} catch (error) {
  failure = (error as Error).message;
}
const said = JSON.stringify({ failure, children: children() });
Deno.stdout.writeSync(new TextEncoder().encode(said));
