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
  const times: Readonly<Record<"with" | "without", number[]>> = { with: [], without: [] };
  for (let round = 0; round <= options.runs; round++) {
    options.onRound(`shell output, round ${round} of ${options.runs}`);
    const without = await runClaudePrint(world, { args: plain });
    const withIt = await runClaudePrint(world, { args: ["--shell-output", ...plain] });
    if (round === 0) continue;
    times.without.push(without.wallMs);
    times.with.push(withIt.wallMs);
  }
  const [ours, bare] = [median(times.with), median(times.without)];
  return [{
    what: "a run with --shell-output",
    value: `${ours.toFixed(0)} ms`,
    against: `without it, ${bare.toFixed(0)} ms`,
    ratio: ours / bare,
    target: { text: `<= ${MAX_RATIO} x`, ok: ours / bare <= MAX_RATIO },
  }];
}
