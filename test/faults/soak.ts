/**
 * A loop of runs inside one process, and then many runs at once, one in five of them killed at a random moment:
 * a program that runs many must not grow, and whatever happens to a run, nothing of it may be left.
 *
 * Flags: `--runs`, `--parallel`, `--loops`, and `--seed`, which is printed and makes the same plan again.
 *
 * @module
 */

import { parseArgs } from "@std/cli/parse-args";
import type { Scenario } from "../../fixtures/mock/scenario.ts";
import { CLAUDE_PRINT, CLAUDE_PRINT_SOURCES } from "../claude_print.ts";
import { leftovers, processesOf } from "../leftovers.ts";
import { StandIn } from "../standin/stand_in.ts";
import { startProgram } from "../start_program.ts";
import { concurrently } from "./concurrently.ts";
import type { Growth } from "./loop.ts";

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

/** The size of a soak. */
export interface SoakOptions {
  readonly runs: number;
  /** How many runs there are at a time. */
  readonly parallel: number;
  /** How many runs there are in the loop inside one process, of which the first half only warms up. */
  readonly loops: number;
  /** A whole number from which everything random follows. */
  readonly seed: number;
}

/** The report of a soak. */
export interface SoakReport extends Growth {
  readonly runs: number;
  readonly killed: number;
  /** Failures of runs that were not killed. */
  readonly failures: readonly string[];
  /** Processes, files and folders that were still there after a sweep. */
  readonly leftovers: readonly string[];
  /** The longest life of a process after its run was killed, in milliseconds. */
  readonly afterlifeMs: number;
}

const ANSWER = "Hello from the stand-in.";

/** The children there are: they answer, use a tool, and have nothing to do with signals. */
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

/** The part of a run's usual duration in which it is killed: some are over sooner than usual. */
const MOST_OF_A_RUN = 0.85;

/** How long processes may live after a kill, in milliseconds. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 20;

interface Plan {
  /** A mark in the environment of every process of the run. */
  readonly mark: string;
  readonly scenario: Partial<Scenario>;
  /** When it is killed, in usual durations of a run; null for never. */
  readonly killAt: number | null;
}

export async function soak(options: SoakOptions): Promise<SoakReport> {
  await using claude = await StandIn.set();
  const failures: string[] = [];
  let usualMs = 1000;
  let killed = 0;
  let afterlifeMs = 0;

  const play = async ({ mark, scenario, killAt }: Plan) => {
    const begun = performance.now();
    const command = [
      ...CLAUDE_PRINT,
      "--claude-binary",
      claude.binary,
      "--timeout",
      "600",
      "hello",
    ];
    const { child, ended } = startProgram(command, {
      env: {
        ...claude.home.env,
        MOCK_CLAUDE_SCENARIO: JSON.stringify(scenario),
        SOAK_RUN: mark,
      },
      cwd: claude.home.project,
    });
    let wasKilled = false;
    const timer = killAt === null ? undefined : setTimeout(() => {
      try {
        child.kill("SIGKILL");
        wasKilled = true;
      } catch {
        // The process has just ended.
      }
    }, killAt * usualMs);
    const { success } = await child.status;
    clearTimeout(timer);
    if (wasKilled && !success) {
      killed++;
      afterlifeMs = Math.max(afterlifeMs, await afterlife(mark));
      await ended;
      return;
    }
    const { code, stdout, stderr } = await ended;
    if (code !== 0 || stdout !== `${ANSWER}\n`) failures.push(`exit code ${code}: ${stderr}`);
    usualMs += (performance.now() - begun - usualMs) / 8;
  };

  const growth = await growthOf(claude, options.loops);
  await concurrently(plans(options), { limit: options.parallel, each: play });
  const swept = await startProgram([...CLAUDE_PRINT, "sweep"], {
    env: claude.home.env,
    cwd: claude.home.project,
  }).ended;
  if (swept.code !== 0) failures.push(`sweep: ${swept.stdout}${swept.stderr}`);
  return {
    runs: options.runs,
    killed,
    failures,
    leftovers: await leftovers(claude.home),
    afterlifeMs: Math.round(afterlifeMs),
    ...growth,
  };
}

/** The plan of all runs. */
function plans({ runs, seed }: SoakOptions): readonly Plan[] {
  const random = randomNumbers(seed);
  return Array.from({ length: runs }, (_, index) => ({
    mark: `soak-run-${index}.`,
    scenario: SCENARIOS[Math.floor(random() * SCENARIOS.length)] ?? {},
    killAt: index % 5 === 4 ? random() * MOST_OF_A_RUN : null,
  }));
}

/** How long processes with the mark live, in milliseconds. */
async function afterlife(mark: string): Promise<number> {
  const begun = performance.now();
  const elapsed = () => performance.now() - begun;
  while (processesOf(mark).length > 0 && elapsed() < PATIENCE_MS) {
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
  return elapsed();
}

/** Runs the driver repeatedly in one process. */
async function growthOf(claude: StandIn, loops: number): Promise<Growth> {
  const program = CLAUDE_PRINT_SOURCES.with(-1, `${import.meta.dirname}/loop.ts`);
  const { code, stdout, stderr } = await startProgram([...program, String(loops)], {
    env: claude.home.env,
    cwd: claude.home.project,
  }).ended;
  if (code !== 0) throw new Error(`The loop failed: ${stderr}`);
  return JSON.parse(stdout);
}

if (import.meta.main) {
  const args = parseArgs(Deno.args, { string: ["runs", "parallel", "loops", "seed"] });
  const options = {
    runs: Number(args.runs ?? 500),
    parallel: Number(args.parallel ?? 8),
    loops: Number(args.loops ?? 100),
    seed: Number(args.seed ?? Date.now() % 2 ** 31),
  };
  const print = (line: string) => Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
  print(`seed               ${options.seed}`);
  const report = await soak(options);
  print(`runs               ${report.runs}, ${options.parallel} at a time`);
  print(`killed             ${report.killed}`);
  print(`failures           ${report.failures.length}`);
  print(`leftovers          ${report.leftovers.length}`);
  print(`longest afterlife  ${report.afterlifeMs} ms`);
  print(`loop               ${options.loops} runs in one process`);
  print(`memory growth      ${(report.memoryGrowth / 1e6).toFixed(1)} MB`);
  print(`open files more    ${report.fdGrowth}`);
  for (const line of [...report.failures, ...report.leftovers].slice(0, 10)) print(`- ${line}`);
  const isClean = report.failures.length + report.leftovers.length + report.fdGrowth === 0;
  Deno.exit(isClean ? 0 : 1);
}
