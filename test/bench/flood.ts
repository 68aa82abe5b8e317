import { StandIn } from "../program/stand_in.ts";
import { CLAUDE_PRINT_CACHED } from "../claude_print.ts";
import { median } from "./median.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

const CALLS = 25_000;
const MIN_FRAMES_PER_S = 20_000;

/** Measures how fast a transcript of 50,000 lines, which a stand-in for Claude Code writes as fast as it can, becomes stream-json. */
export async function measureFlood(
  _world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const speeds: number[] = [];
  for (let round = 1; round <= options.runs; round++) {
    options.onRound(`flood of frames, round ${round} of ${options.runs}`);
    speeds.push(await framesPerSecond());
  }
  const speed = median(speeds);
  return [{
    what: "frames of 50,000 lines",
    value: `${(speed / 1000).toFixed(1)} k/s`,
    against: `the target, ${MIN_FRAMES_PER_S / 1000} k/s`,
    ratio: speed / MIN_FRAMES_PER_S,
    target: { text: `>= ${MIN_FRAMES_PER_S / 1000} k/s`, ok: speed >= MIN_FRAMES_PER_S },
  }];
}

/** From the first frame of the flood to the last one. */
async function framesPerSecond(): Promise<number> {
  await using claude = await StandIn.set({ floodCalls: CALLS });
  const [program = "", ...own] = CLAUDE_PRINT_CACHED;
  const child = new Deno.Command(program, {
    args: [
      ...[...own, "--claude-binary", claude.binary],
      ...["--output-format", "stream-json", "--verbose", "hello"],
    ],
    cwd: claude.home.project,
    clearEnv: true,
    env: { ...claude.home.env },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let firstAt: number | undefined;
  let lastAt = 0;
  let frames = 0;
  for await (const bytes of child.stdout) {
    for (const byte of bytes) if (byte === 0x0a) frames++;
    // `system/init` comes before the flood.
    if (frames > 1) firstAt ??= performance.now();
    lastAt = performance.now();
  }
  const { success } = await child.status;
  if (!success || firstAt === undefined || frames < 2 * CALLS) {
    throw new Error(`The flood ended after ${frames} frames`);
  }
  return frames / (lastAt - firstAt) * 1000;
}
