import { converse } from "../../src/library/mod.ts";
import { median } from "./median.ts";
import { runPrintMode } from "./print_mode.ts";
import { PROMPT } from "./prompt.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

const MAX_RATIO = 0.45;

/** How long a Claude Code has waited for its first message, in milliseconds: it has done with its start by then. */
const WAITED_MS = 3000;

/** Measures the first turn of a conversation whose Claude Code has waited for it, in turns with a run of `claude -p`. */
export async function measureWarm(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const own: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round <= options.runs; round++) {
    options.onRound(`warm conversations, round ${round} of ${options.runs}`);
    const times = [await firstTurn(world), await runPrintMode(world.claude, world.homes.printMode)];
    // A first round does not count: what follows the start of a child is loaded in it.
    if (round === 0) continue;
    own.push(times[0] ?? NaN);
    theirs.push(times[1] ?? NaN);
  }
  const [value, other] = [median(own), median(theirs)];
  return [{
    what: "first turn, warm",
    value: `${value.toFixed(0)} ms`,
    against: `claude -p, ${other.toFixed(0)} ms`,
    ratio: value / other,
    target: { text: `<= ${MAX_RATIO} x`, ok: value / other <= MAX_RATIO },
  }];
}

/** How long the result of a first message took, in milliseconds. */
async function firstTurn({ claude, homes: { claudePrint } }: World): Promise<number> {
  await using conversation = converse({
    cwd: claudePrint.project,
    env: claudePrint.env,
    args: ["--claude-binary", claude],
    warm: true,
  });
  await new Promise((over) => setTimeout(over, WAITED_MS));
  const saidAt = performance.now();
  const { problem } = await conversation.send(PROMPT).result;
  if (problem !== undefined) throw new Error(problem.message);
  return performance.now() - saidAt;
}
