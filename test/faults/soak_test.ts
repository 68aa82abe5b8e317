import { assert, assertEquals } from "@std/assert";
import { soak } from "./soak.ts";

/** Memory of a process goes up and down by a few megabytes. */
const FLUCTUATION = 32_000_000;

Deno.test("many runs at once, some of them killed, leave nothing behind", async () => {
  const report = await soak({ runs: 24, parallel: 8, loops: 12, seed: 7 });
  assertEquals([report.failures, report.leftovers, report.fdGrowth], [[], [], 0]);
  assert(report.killed > 0, "no run was killed");
  assert(report.memoryGrowth < FLUCTUATION, `memory grew by ${report.memoryGrowth} bytes`);
});
