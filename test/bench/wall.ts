import { runBareTui } from "./bare_tui.ts";
import { runClaudePrint, traceClaudePrint, type TracedRun } from "./claude_print.ts";
import { median } from "./median.ts";
import { overheadRows } from "./overhead_rows.ts";
import { runPrintMode } from "./print_mode.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

const MAX_OVERHEAD_MS = 60;
const MAX_RATIO = 1.7;

/** Measures single runs of the contenders in turn; a first round does not count. */
export async function measureWall(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const ours: number[] = [];
  const traced: TracedRun[] = [];
  const bare: { readonly wallMs: number; readonly stopMs: number }[] = [];
  const plain: number[] = [];
  const print: number[] = [];
  for (let round = 0; round <= options.runs; round++) {
    options.onRound(`single runs, round ${round} of ${options.runs}`);
    const a = await runClaudePrint(world);
    const b = await runPrintMode(world.claude, world.homes.printMode);
    const c = await runBareTui(world, 1);
    const d = await traceClaudePrint(world);
    const e = await runBareTui(world, 1, { asItComes: true });
    if (round === 0) continue;
    ours.push(a.wallMs);
    print.push(b);
    bare.push(c);
    traced.push(d);
    plain.push(e.wallMs);
  }
  const wall = median(ours);
  const bareWall = median(bare.map(({ wallMs }) => wallMs));
  const plainWall = median(plain);
  const printWall = median(print);
  const stop = median(traced.map(({ stopMs }) => stopMs));
  const bareStop = median(bare.map(({ stopMs }) => stopMs));
  const ending = median(traced.map(({ endingMs }) => endingMs));
  return [
    {
      what: "wall time",
      value: ms(wall),
      against: `claude -p, ${ms(printWall)}`,
      ratio: wall / printWall,
      target: { text: `<= ${MAX_RATIO} x`, ok: wall / printWall <= MAX_RATIO },
    },
    {
      what: "wall time",
      value: ms(wall),
      against: `bare TUI, ${ms(bareWall)}`,
      ratio: wall / bareWall,
    },
    ...overheadRows(wall, { alikeMs: bareWall, plainMs: plainWall }, {
      what: "own overhead",
      maxMs: MAX_OVERHEAD_MS,
    }),
    {
      what: "  of it before Stop",
      value: ms(stop - bareStop),
      against: `bare TUI's Stop, ${ms(bareStop)}`,
      ratio: (stop - bareStop) / bareStop,
    },
    {
      what: "Stop to ending",
      value: ms(ending),
      against: `claude-print, ${ms(wall)}`,
      ratio: ending / wall,
    },
    {
      what: "the bare TUI itself",
      value: ms(bareWall),
      against: `claude -p, ${ms(printWall)}`,
      ratio: bareWall / printWall,
    },
  ];
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`;
}
