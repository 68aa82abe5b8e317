import { assertEquals } from "@std/assert";
import { closeFd } from "../../ffi/fd.ts";
import { openPidfd } from "../../ffi/process.ts";
import { openPty } from "../../ffi/pty.ts";
import { DEFAULT_WINDOW_SIZE, windowSize } from "../../ffi/window_size.ts";
import { runScript } from "./pty_child.ts";

Deno.test("windowSize reads the size of a terminal", () => {
  using pty = openPty({ rows: 33, cols: 111 });
  assertEquals(windowSize(pty.fd), { rows: 33, cols: 111 });
});

Deno.test("windowSize of something else than a terminal, or of nothing, is undefined", () => {
  const pidfd = openPidfd(Deno.pid);
  assertEquals(windowSize(pidfd), undefined);
  closeFd(pidfd);
  assertEquals(windowSize(-1), undefined);
});

Deno.test("windowSize of a terminal that says 0 rows and 0 columns is undefined", async () => {
  using pty = openPty(DEFAULT_WINDOW_SIZE);
  const { status } = await runScript(`stty rows 0 cols 0 <${pty.path}`);
  assertEquals(status, { kind: "exited", code: 0 });
  assertEquals(windowSize(pty.fd), undefined);
});

Deno.test("DEFAULT_WINDOW_SIZE is 50 rows of 220 columns", async () => {
  const { text } = await runScript("stty size", { size: DEFAULT_WINDOW_SIZE });
  assertEquals(text, "50 220\r\n");
});
