import { runClaudePrint } from "./claude_print.ts";
import { median } from "./median.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

const MAX_RATIO = 1.05;

/** A command that writes line by line for a second, and one that writes half a megabyte at once. */
const COMMANDS = ["for n in $(seq 100); do echo line $n; sleep 0.01; done", "seq 90000"];

/** Measures what it costs to be told what commands write while they run. */
export async function measureShellOutput(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const prompt = `Work. ${COMMANDS.map((command) => `[[bash ${command}]]`).join(" ")} [[say done]]`;
  const plain = ["--output-format=stream-json", "--verbose", "--allowedTools=Bash", prompt];
  const flags = [[], ["--shell-output"], ["--shell-output=split"]] as const;
  const times: readonly number[][] = flags.map(() => []);
  for (let round = 0; round <= options.runs; round++) {
    options.onRound(`shell output, round ${round} of ${options.runs}`);
    for (const [index, flag] of flags.entries()) {
      const { wallMs } = await runClaudePrint(world, { args: [...flag, ...plain] });
      if (round > 0) times[index]?.push(wallMs);
    }
  }
  const [bare = NaN, joined = NaN, split = NaN] = times.map(median);
  const row = (what: string, value: number): Row => ({
    what,
    value: `${value.toFixed(0)} ms`,
    against: `without it, ${bare.toFixed(0)} ms`,
    ratio: value / bare,
    target: { text: `<= ${MAX_RATIO} x`, ok: value / bare <= MAX_RATIO },
  });
  return [
    row("a run with --shell-output", joined),
    row("a run with --shell-output=split", split),
  ];
}
