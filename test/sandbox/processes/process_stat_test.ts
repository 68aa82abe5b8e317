import { assertEquals } from "@std/assert";
import { readProcessStat } from "../../../src/sandbox/processes/process_stat.ts";

Deno.test("readProcessStat() reads past a command name with blanks and parentheses", async () => {
  const folder = Deno.makeTempDirSync();
  const program = `${folder}/a) Z 1 (b`;
  Deno.copyFileSync("/bin/sleep", program);
  const child = new Deno.Command(program, { args: ["1000"] }).spawn();
  try {
    const own = readProcessStat("self");
    assertEquals(own?.pid, Deno.pid);
    const { startTime, ...stat } = readProcessStat(child.pid) ?? {};
    assertEquals(stat, {
      pid: child.pid,
      parent: Deno.pid,
      group: own?.group,
      session: own?.session,
      ended: false,
      stopped: false,
    });
    assertEquals(Number(startTime) >= Number(own?.startTime), true);
  } finally {
    child.kill("SIGKILL");
    await child.status;
    Deno.removeSync(folder, { recursive: true });
  }
  assertEquals(readProcessStat(child.pid), undefined);
});
