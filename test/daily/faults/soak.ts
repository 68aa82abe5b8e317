/**
 * Runs in one process, and then many runs at once, one in five killed at a random moment. The process must not grow, and
 * nothing of a run may be left.
 *
 * Flags: `--runs`, `--parallel`, `--loops`, and `--seed`, which repeats a plan.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import type { Scenario } from "../../../fixtures/mock/scenario.ts";
import { CLAUDE_PRINT, CLAUDE_PRINT_SOURCES } from "../../claude_print.ts";
import { leftovers, processesOf } from "../../leftovers.ts";
import { performInProcess } from "../../real/perform_in_process.ts";
import { StandIn, until } from "../../program/stand_in.ts";
import { startProgram } from "../../start_program.ts";
import { concurrently } from "../../concurrently.ts";

/** Numbers from 0 to 1, the same for the same seed: an xorshift of 32 bits. */
export function randomNumbers(seed: number): () => number {
  let state = seed | 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** Prints the lines of a report, and ends with 1 if it has failures. */
export function endWith(
  lines: Readonly<Record<string, unknown>>,
  failures: readonly string[],
): never {
  const rows = Object.entries(lines).map(([name, value]) => `${name.padEnd(18)} ${value}`);
  const first = failures.slice(0, 10).map((failure) => `- ${failure}`);
  const text = [...rows, `failures           ${failures.length}`, ...first].join("\n");
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
  Deno.exit(failures.length === 0 ? 0 : 1);
}

/** The size of a soak. */
export interface SoakOptions {
  readonly runs: number;
  /** How many runs there are at a time. */
  readonly parallel: number;
  /** How many runs there are in one process; the first half only warms up. */
  readonly loops: number;
  readonly seed: number;
}

/** Growth of a process, in bytes of resident memory and in open files. */
interface Growth {
  readonly memoryGrowth: number;
  readonly fdGrowth: number;
}

/** The report of a soak. */
export interface SoakReport extends Growth {
  readonly killed: number;
  /** Failures of runs that were not killed. */
  readonly failures: readonly string[];
  readonly leftovers: readonly string[];
}

const ANSWER = "Hello from the stand-in.";

/** Children that answer, use a tool, or ignore signals. */
const SCENARIOS: readonly Partial<Scenario>[] = [
  {},
  { turns: [[tool("sleep 0.2"), { text: ANSWER }]] },
  {
    ignoreSignals: ["SIGHUP", "SIGINT"],
    turns: [[tool("trap '' HUP INT TERM; sleep 0.3 & wait"), { text: ANSWER }]],
  },
];

function tool(command: string) {
  return { text: "Let me see.", tools: [{ name: "Bash", input: { command } }] };
}

/** The part of a run's usual duration in which it is killed: some runs are over sooner than usual. */
const MOST_OF_A_RUN = 0.85;

export async function soak({ runs, parallel, loops, seed }: SoakOptions): Promise<SoakReport> {
  await using claude = await StandIn.set();
  const { env, project: cwd } = claude.home;
  const random = randomNumbers(seed);
  const failures: string[] = [];
  let usualMs = 1000;
  let killed = 0;
  const plans = Array.from({ length: runs }, (_, index) => ({
    // A mark in the environment of every process of the run.
    mark: `soak-run-${index}.`,
    scenario: SCENARIOS[Math.floor(random() * SCENARIOS.length)] ?? {},
    killAt: index % 5 === 4 ? random() * MOST_OF_A_RUN : undefined,
  }));

  const program = CLAUDE_PRINT_SOURCES.with(-1, import.meta.filename ?? "");
  const loop = await startProgram([...program, "--loop", `${loops}`], { env, cwd }).ended;
  if (loop.code !== 0) throw new Error(`The loop failed: ${loop.stderr}`);
  const growth: Growth = JSON.parse(loop.stdout);

  await concurrently(plans, {
    limit: parallel,
    each: async ({ mark, scenario, killAt }) => {
      const begun = performance.now();
      const args = ["--claude-binary", claude.binary, "--timeout", "600", "hello"];
      const { child, ended } = startProgram([...CLAUDE_PRINT, ...args], {
        env: { ...env, MOCK_CLAUDE_SCENARIO: JSON.stringify(scenario), SOAK_RUN: mark },
        cwd,
      });
      using kill = killAfter(killAt === undefined ? undefined : killAt * usualMs, child);
      const { success } = await child.status;
      if (kill.done() && !success) {
        killed++;
        await until(() => processesOf(mark).length === 0, "the killed run is gone");
        await ended;
        return;
      }
      const { code, stdout, stderr } = await ended;
      if (code !== 0 || stdout !== `${ANSWER}\n`) failures.push(`exit code ${code}: ${stderr}`);
      usualMs += (performance.now() - begun - usualMs) / 8;
    },
  });
  const swept = await startProgram([...CLAUDE_PRINT, "sweep"], { env, cwd }).ended;
  if (swept.code !== 0) failures.push(`sweep: ${swept.stdout}${swept.stderr}`);
  return { killed, failures, leftovers: await leftovers(claude.home), ...growth };
}

/** Kills a process after some milliseconds; never for undefined. */
export function killAfter(ms: number | undefined, child: Deno.ChildProcess) {
  let wasKilled = false;
  const timer = ms === undefined ? undefined : setTimeout(() => {
    try {
      child.kill("SIGKILL");
      wasKilled = true;
    } catch {
      // The process has just ended.
    }
  }, ms);
  return { done: () => wasKilled, [Symbol.dispose]: () => clearTimeout(timer) };
}

/** Performs runs in this process, and measures its growth after the first half. */
async function performLoop(loops: number): Promise<Growth> {
  await using claude = await StandIn.set();
  const used = () => ({
    memory: Deno.memoryUsage().rss,
    fds: [...Deno.readDirSync("/proc/self/fd")].length,
  });
  let before = used();
  for (let count = 1; count <= loops; count++) {
    const { report } = await performInProcess(claude, { prompt: "hello" });
    if (report.exitCode !== 0) throw new Error(`A run failed: ${report.problem?.message}`);
    if (count === Math.floor(loops / 2)) before = used();
  }
  const after = used();
  return { memoryGrowth: after.memory - before.memory, fdGrowth: after.fds - before.fds };
}

if (import.meta.main) {
  const args = parseArgs(Deno.args, { string: ["runs", "parallel", "loops", "seed", "loop"] });
  if (args.loop !== undefined) {
    const growth = JSON.stringify(await performLoop(Number(args.loop)));
    Deno.stdout.writeSync(new TextEncoder().encode(`${growth}\n`));
    Deno.exit(0);
  }
  const options = {
    runs: Number(args.runs ?? 500),
    parallel: Number(args.parallel ?? 8),
    loops: Number(args.loops ?? 100),
    seed: Number(args.seed ?? Date.now() % 2 ** 31),
  };
  const { killed, memoryGrowth, fdGrowth, ...report } = await soak(options);
  const growth = `${(memoryGrowth / 1e6).toFixed(1)} MB, ${fdGrowth} open files`;
  const failures = [...report.failures, ...report.leftovers];
  if (fdGrowth !== 0) failures.push(`${fdGrowth} open files more`);
  endWith({ ...options, killed, growth }, failures);
}
