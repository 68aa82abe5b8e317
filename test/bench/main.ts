/**
 * Measures claude-print against `claude -p` and against the interactive Claude Code with nothing around it, on
 * one machine in one go, so that its ratios mean something elsewhere too.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import type { ClaudeVersion } from "../../fixtures/programs/claude_binary.ts";
import { pythonVersion } from "./bare_tui.ts";
import { measureCast } from "./cast.ts";
import { measureCost } from "./cost.ts";
import { measureExecutable } from "./executable.ts";
import { measureFlood } from "./flood.ts";
import { measureFrames } from "./frames.ts";
import { measureIdle } from "./idle.ts";
import { measureLive } from "./live.ts";
import { measureMemory } from "./memory.ts";
import { measureParallel } from "./parallel.ts";
import { measurePty } from "./pty.ts";
import { measureRelay } from "./relay.ts";
import { measureReplay } from "./replay.ts";
import { formatHeading, formatRow } from "./row.ts";
import { measureServed } from "./served.ts";
import { measureShellOutput } from "./shell_output.ts";
import { measureTurns } from "./turns.ts";
import { measureWall } from "./wall.ts";
import { measureWarm } from "./warm.ts";
import { makeWorld } from "./world.ts";

const HELP = `deno task bench [--runs N] [--version V] [--only PART]

  --runs N      rounds of single runs, at least 1; default 10. The other parts take 3 rounds, or N if less
  --version V   Claude Code 2.1.332 or 2.1.285; default 2.1.332
  --only PART   wall, warm, served, idle, turns, live, frames, shell, parallel, memory, flood, pty, cost, relay, replay, cast or executable; may be given several times
`;

const VERSIONS: readonly ClaudeVersion[] = ["2.1.332", "2.1.285"];
const PARTS = {
  wall: measureWall,
  warm: measureWarm,
  served: measureServed,
  idle: measureIdle,
  turns: measureTurns,
  live: measureLive,
  frames: measureFrames,
  shell: measureShellOutput,
  memory: measureMemory,
  flood: measureFlood,
  pty: measurePty,
  parallel: measureParallel,
  cost: measureCost,
  relay: measureRelay,
  replay: measureReplay,
  cast: measureCast,
  executable: measureExecutable,
} as const;
type Part = keyof typeof PARTS;

const FEW_ROUNDS = 3;

interface BenchOptions {
  readonly runs: number;
  readonly version: ClaudeVersion;
  readonly parts: readonly Part[];
}

/** Reads the command line; a text is what is wrong with it. */
function readOptions(args: readonly string[]): BenchOptions | string {
  const unknown: string[] = [];
  const parsed = parseArgs(args, {
    boolean: ["help"],
    string: ["runs", "version", "only"],
    collect: ["only"],
    default: { runs: "10", version: "2.1.332" },
    unknown: (argument) => {
      unknown.push(argument);
      return false;
    },
  });
  if (parsed.help) return HELP;
  if (unknown.length > 0) return `Unknown: ${unknown.join(" ")}\n\n${HELP}`;
  const runs = Number(parsed.runs);
  if (!Number.isInteger(runs) || runs < 1) return `--runs needs a number from 1 on\n\n${HELP}`;
  const version = VERSIONS.find((known) => known === parsed.version);
  if (version === undefined) return `--version needs ${VERSIONS.join(" or ")}\n\n${HELP}`;
  const names = Object.keys(PARTS) as Part[];
  const wrong = parsed.only.find((part) => !names.some((name) => name === part));
  if (wrong !== undefined) return `--only knows no part "${wrong}"\n\n${HELP}`;
  const parts = names.filter((name) => parsed.only.length === 0 || parsed.only.includes(name));
  return { runs, version, parts };
}

/** Measures the parts that were asked for; the exit code tells failures, never a missed target. */
async function main(): Promise<number> {
  const options = readOptions(Deno.args);
  if (typeof options === "string") {
    print(options);
    return options === HELP ? 0 : 2;
  }
  const python = await pythonVersion();
  if (python === undefined) {
    print(`Cannot run the bench: the bare TUI needs "python3" 3.9 or newer on PATH, on Linux\n`);
    return 2;
  }
  await using world = await makeWorld(options.version);
  print(`Claude Code ${options.version}, ${machine(python)}\n`);
  print(`Medians of ${options.runs} interleaved rounds (parallel, memory, terminal: `);
  print(`${Math.min(options.runs, FEW_ROUNDS)}); runs to warm up come first and do not count\n\n`);
  print(`${formatHeading()}\n`);
  for (const part of options.parts) {
    const runs = part === "wall" ? options.runs : Math.min(options.runs, FEW_ROUNDS);
    const rows = await PARTS[part](world, { runs, onRound: progress });
    progress("");
    for (const row of rows) print(`${formatRow(row)}\n`);
  }
  return 0;
}

/** The machine in one line: without it no number below means anything. */
function machine(python: string): string {
  const gigabytes = (Deno.systemMemoryInfo().total / 1e9).toFixed(0);
  return [
    `${navigator.hardwareConcurrency} cores`,
    `${gigabytes} GB`,
    `Linux ${Deno.osRelease()}`,
    `Deno ${Deno.version.deno}`,
    `Python ${python}`,
  ].join(", ");
}

/** Says on a terminal what is being measured, in a line that the next text overwrites. */
function progress(text: string): void {
  if (!Deno.stderr.isTerminal()) return;
  Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${text}`));
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}

Deno.exitCode = await main();
