import { runBareTui } from "./bare_tui.ts";
import { runClaudePrint } from "./claude_print.ts";
import { median } from "./median.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

const COUNTS = [1, 2, 4, 8] as const;
const MAX_RATIO = 1.1;

/** Measures several runs at once, from the first start to the last end; a first single run does not count. */
export async function measureParallel(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  await runClaudePrint(world);
  await runBareTui(world, 1);
  const rows: Row[] = [];
  for (const count of COUNTS) {
    const ours: number[] = [];
    const bare: number[] = [];
    for (let round = 1; round <= options.runs; round++) {
      options.onRound(`${count} at once, round ${round} of ${options.runs}`);
      ours.push(await claudePrintsAtOnce(world, count));
      bare.push((await runBareTui(world, count)).wallMs);
    }
    const ratio = median(ours) / median(bare);
    rows.push({
      what: `${count} at once`,
      value: `${median(ours).toFixed(0)} ms`,
      against: `${count} bare TUI${count === 1 ? "" : "s"}, ${median(bare).toFixed(0)} ms`,
      ratio,
      target: { text: `<= ${MAX_RATIO} x`, ok: ratio <= MAX_RATIO },
    });
  }
  return rows;
}

async function claudePrintsAtOnce(world: World, count: number): Promise<number> {
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: count }, () => runClaudePrint(world)));
  return performance.now() - startedAt;
}
