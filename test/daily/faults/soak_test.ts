import { assert, assertEquals } from "@std/assert";
import { serveSoak } from "./serve_soak.ts";
import { soak } from "./soak.ts";

/** Memory of a process goes up and down by a few megabytes. */
const FLUCTUATION = 32_000_000;

Deno.test("many runs, some killed, leave nothing", async () => {
  const report = await soak({ runs: 10, parallel: 5, loops: 6, seed: 7 });
  assertEquals([report.failures, report.leftovers, report.fdGrowth], [[], [], 0]);
  assert(report.killed > 0, "no run was killed");
  assert(report.memoryGrowth < FLUCTUATION, `memory grew by ${report.memoryGrowth} bytes`);
});

Deno.test("many callers of killed servers get their own answers", async () => {
  const report = await serveSoak({ runs: 20, profiles: 3, parallel: 5, seed: 7 });
  assertEquals([report.failures, report.leftovers], [[], []]);
  assert(report.answered > 0 && report.killed.servers === 2, JSON.stringify(report));
});
