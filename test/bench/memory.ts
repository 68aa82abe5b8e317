import { runClaudePrint } from "./claude_print.ts";
import { median } from "./median.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

const MAX_MB = 90;

/** Measures the most memory that claude-print's own process held, for two output formats. */
export async function measureMemory(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const format of ["text", "stream-json"]) {
    const args = ["--output-format", format, ...(format === "text" ? [] : ["--verbose"])];
    const peaks: number[] = [];
    for (let round = 1; round <= options.runs; round++) {
      options.onRound(`memory, ${format}, round ${round} of ${options.runs}`);
      peaks.push((await runClaudePrint(world, { args, watchMemory: true })).peakMb);
    }
    const peak = median(peaks);
    rows.push({
      what: `peak memory, ${format}`,
      value: `${peak.toFixed(1)} MB`,
      against: `the target, ${MAX_MB} MB`,
      ratio: peak / MAX_MB,
      target: { text: `<= ${MAX_MB} MB`, ok: peak <= MAX_MB },
    });
  }
  return rows;
}
