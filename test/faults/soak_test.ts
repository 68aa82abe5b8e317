import { assert, assertEquals } from "@std/assert";
import { serveSoak } from "./serve_soak.ts";
import { soak } from "./soak.ts";

/** Memory of a process goes up and down by a few megabytes. */
const FLUCTUATION = 32_000_000;

Deno.test("many runs at once, some of them killed, leave nothing behind", async () => {
  const report = await soak({ runs: 10, parallel: 5, loops: 6, seed: 7 });
  assertEquals([report.failures, report.leftovers, report.fdGrowth], [[], [], 0]);
  assert(report.killed > 0, "no run was killed");
  assert(report.memoryGrowth < FLUCTUATION, `memory grew by ${report.memoryGrowth} bytes`);
});

Deno.test("runs of many callers that servers carry out, some of all three killed, have their own answers", async () => {
  const report = await serveSoak({ runs: 20, profiles: 3, parallel: 5, seed: 7 });
  assertEquals([report.failures, report.leftovers], [[], []]);
  assert(report.answered > 0 && report.killed.servers === 2, JSON.stringify(report));
});
