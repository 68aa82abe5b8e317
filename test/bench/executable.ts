import { bundleProgram } from "../../.github/scripts/bundle_program.ts";
import { makeExecutable } from "../../.github/scripts/make_executable.ts";
import { runtimeBase } from "../../.github/scripts/runtime_base.ts";
import { runBareTui } from "./bare_tui.ts";
import { runClaudePrint } from "./claude_print.ts";
import { median } from "./median.ts";
import { type BareTimes, overheadRows } from "./overhead_rows.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";
import { NOWHERE } from "../nowhere.ts";

const MAX_MS = 60;
const MAX_RATIO = 2;
const MAX_OVERHEAD_MS = 50;

/** Starts are so short that fewer of them say nothing. */
const LEAST_ROUNDS = 25;
const LEAST_RUNS = 8;

/**
 * Measures how long the executable takes to say its version against an executable that only says hello, compiled in
 * the same way and started in turn with it, the size of both, and what a run of it takes longer than a bare TUI.
 */
export async function measureExecutable(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const folder = await Deno.makeTempDir({ prefix: "claude-print-bench-" });
  try {
    options.onRound("compiling");
    const base = await runtimeBase(undefined);
    const ours = { folder: `${folder}/bundle`, executable: `${folder}/claude-print` };
    const hello = { folder: `${folder}/hello`, executable: `${folder}/hello-world` };
    await bundleProgram(ours.folder);
    await Deno.mkdir(hello.folder);
    await Deno.writeTextFile(`${hello.folder}/main.js`, 'console.log("hello");\n');
    for (const { executable, folder } of [ours, hello]) {
      await makeExecutable(executable, { folder, base });
    }
    const alone = [ours.executable, "--version", "--claude-binary", NOWHERE];
    const around = [ours.executable, "--version", "--claude-binary", world.claude];
    const commands = [alone, around, [hello.executable], [world.claude, "--version"]];
    const times: number[][] = commands.map(() => []);
    const rounds = Math.max(options.runs, LEAST_ROUNDS);
    for (let round = 0; round <= rounds; round++) {
      options.onRound(`start-up, round ${round} of ${rounds}`);
      for (const [index, command] of commands.entries()) {
        const ms = await timeOf(command, world);
        if (round > 0) times[index]?.push(ms);
      }
    }
    const runs = await measureRuns(world, {
      ...options,
      runs: Math.max(options.runs, LEAST_RUNS),
      program: [ours.executable],
    });
    const [aloneMs = NaN, aroundMs = NaN, helloMs = NaN, claudeMs = NaN] = times.map(median);
    const [size, helloSize] = [await sizeOf(ours.executable), await sizeOf(hello.executable)];
    const isFast = (ms: number) => ms <= MAX_MS && ms <= MAX_RATIO * helloMs;
    return [
      ...overheadRows(runs.wallMs, runs, {
        what: "own overhead, executable",
        maxMs: MAX_OVERHEAD_MS,
      }),
      {
        what: "--version, without a claude",
        value: ms(aloneMs),
        against: `hello world, ${ms(helloMs)}`,
        ratio: aloneMs / helloMs,
        target: { text: `<= ${MAX_MS} ms, ${MAX_RATIO} x`, ok: isFast(aloneMs) },
      },
      {
        what: "--version, which asks claude's",
        value: ms(aroundMs),
        against: `that and claude's, ${ms(aloneMs + claudeMs)}`,
        ratio: aroundMs / (aloneMs + claudeMs),
        target: { text: `<= ${MAX_MS} ms, ${MAX_RATIO} x`, ok: isFast(aroundMs) },
      },
      {
        what: `size, on ${base.name}`,
        value: `${size.toFixed(1)} MB`,
        against: `hello world, ${helloSize.toFixed(1)} MB`,
        ratio: size / helloSize,
      },
    ];
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs of the executable in turns with bare TUIs: medians in milliseconds; a first round does not count. */
async function measureRuns(
  world: World,
  { program, runs, onRound }: {
    readonly program: readonly string[];
    readonly runs: number;
    readonly onRound: (text: string) => void;
  },
): Promise<BareTimes & { readonly wallMs: number }> {
  const wall: number[] = [];
  const alike: number[] = [];
  const plain: number[] = [];
  for (let round = 0; round <= runs; round++) {
    onRound(`runs of the executable, round ${round} of ${runs}`);
    const ours = await runClaudePrint(world, { program });
    const bare = await runBareTui(world, 1);
    const asItComes = await runBareTui(world, 1, { asItComes: true });
    if (round === 0) continue;
    wall.push(ours.wallMs);
    alike.push(bare.wallMs);
    plain.push(asItComes.wallMs);
  }
  return { wallMs: median(wall), alikeMs: median(alike), plainMs: median(plain) };
}

async function timeOf([program = "", ...args]: readonly string[], world: World): Promise<number> {
  const { env, project } = world.homes.claudePrint;
  const startedAt = performance.now();
  const { code } = await new Deno.Command(program, {
    args,
    cwd: project,
    clearEnv: true,
    env: { ...env },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  const elapsed = performance.now() - startedAt;
  if (code !== 0) throw new Error(`${program} ${args.join(" ")} ended with exit code ${code}`);
  return elapsed;
}

async function sizeOf(path: string): Promise<number> {
  return (await Deno.stat(path)).size / 1_000_000;
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`;
}
