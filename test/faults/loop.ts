/**
 * Runs the driver again and again in one process, and prints by how much its memory and its open files grew after
 * the warm-up, as JSON. A program of its own, because test files share the process that runs them.
 *
 * Its argument is the number of runs, of which the first half only warms up.
 *
 * @module
 */

import { performHere } from "../real/perform_here.ts";
import { StandIn } from "../standin/stand_in.ts";

/** The growth of a process. */
export interface Growth {
  /** Growth of the resident memory, in bytes, and of the number of open files. */
  readonly memoryGrowth: number;
  readonly fdGrowth: number;
}

async function loop(loops: number): Promise<Growth> {
  await using claude = await StandIn.set();
  let before = usedNow();
  for (let count = 1; count <= loops; count++) {
    const { report } = await performHere(claude, { prompt: "hello" });
    if (report.exitCode !== 0) {
      throw new Error(`A run in the loop failed: ${report.problem?.message}`);
    }
    if (count === Math.floor(loops / 2)) before = usedNow();
  }
  const after = usedNow();
  return { memoryGrowth: after.memory - before.memory, fdGrowth: after.fds - before.fds };
}

function usedNow(): { readonly memory: number; readonly fds: number } {
  return { memory: Deno.memoryUsage().rss, fds: [...Deno.readDirSync("/proc/self/fd")].length };
}

if (import.meta.main) {
  const growth = JSON.stringify(await loop(Number(Deno.args[0])));
  Deno.stdout.writeSync(new TextEncoder().encode(`${growth}\n`));
}
