import { converse } from "../../src/library/mod.ts";
import { Pool } from "../../src/server/pool/pool.ts";
import { holdInPool } from "./hold_in_pool.ts";
import { median } from "./median.ts";
import { runPrintMode } from "./print_mode.ts";
import { PROMPT } from "./prompt.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

const MAX_RATIO = 0.45;

/** For a conversation that is over with its only turn, as a run of one prompt in a server is. */
const MAX_RATIO_OF_POOL = 0.6;

/** How long a Claude Code has waited for its first message, in milliseconds: it has done with its start by then. */
const WAITED_MS = 3000;

/** Measures the first turn of a conversation whose Claude Code has waited for it, in turns with a run of `claude -p`. */
export async function measureWarm(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const own: number[] = [];
  const theirs: number[] = [];
  const held: { readonly result: number; readonly end: number }[] = [];
  const tell = options.onRound;
  await using pool = new Pool({ warm: 1, max: 1, idleMs: 3_600_000, report: tell });
  // One that waits for nobody yet is asked for by the first.
  await holdInPool(pool, world);
  for (let round = 0; round <= options.runs; round++) {
    options.onRound(`warm conversations, round ${round} of ${options.runs}`);
    while (!pool.entries.some(({ ready }) => ready > 0)) await sleep(50);
    await sleep(WAITED_MS);
    const ofPool = await holdInPool(pool, world);
    while (!pool.entries.some(({ ready }) => ready > 0)) await sleep(50);
    const times = [await firstTurn(world), await runPrintMode(world.claude, world.homes.printMode)];
    // A first round does not count: what follows the start of a child is loaded in it.
    if (round === 0) continue;
    held.push(ofPool);
    own.push(times[0] ?? NaN);
    theirs.push(times[1] ?? NaN);
  }
  const [value, other] = [median(own), median(theirs)];
  const row = (what: string, value: number, most: number): Row => ({
    what,
    value: `${value.toFixed(0)} ms`,
    against: `claude -p, ${other.toFixed(0)} ms`,
    ratio: value / other,
    target: { text: `<= ${most} x`, ok: value / other <= most },
  });
  return [
    row("first turn, warm", value, MAX_RATIO),
    row("only turn, of a pool", median(held.map(({ result }) => result)), MAX_RATIO_OF_POOL),
    row("and to its end", median(held.map(({ end }) => end)), MAX_RATIO_OF_POOL),
  ];
}

/** How long the result of a first message took, in milliseconds. */
async function firstTurn({ claude, homes: { claudePrint } }: World): Promise<number> {
  await using conversation = converse({
    cwd: claudePrint.project,
    env: claudePrint.env,
    args: ["--claude-binary", claude],
    warm: true,
  });
  await sleep(WAITED_MS);
  const saidAt = performance.now();
  const { problem } = await conversation.send(PROMPT).result;
  if (problem !== undefined) throw new Error(problem.message);
  return performance.now() - saidAt;
}

const sleep = (ms: number) => new Promise((over) => setTimeout(over, ms));
