import type { ThrowawayHome } from "../../fixtures/throwaway_home.ts";
import { CLAUDE_PRINT_CACHED } from "../claude_print.ts";
import { median } from "./median.ts";
import { PROMPT } from "./prompt.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

/** What one run took of the machine, with all the processes it started. */
interface Cost {
  /** User and system time, in seconds. */
  readonly cpuSeconds: number;
  /** The most memory at one time, each shared page counted once, in MB of 1 000 000 bytes. */
  readonly peakMb: number;
  /** The most disk in TMPDIR at one time, in MB. */
  readonly tempMb: number;
  /** What it left in the user's folders, in MB. */
  readonly keptMb: number;
}

/** How often the processes and folders are looked at: a shorter peak is missed. */
const TICK_MS = 40;

/** Measures what a run costs, to size machines with, beside `claude -p`. */
export async function measureCost(
  world: World,
  options: { readonly runs: number; readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const ours: Cost[] = [];
  const theirs: Cost[] = [];
  for (let round = 0; round <= options.runs; round++) {
    options.onRound(`cost, round ${round} of ${options.runs}`);
    const a = await costOf(
      [...CLAUDE_PRINT_CACHED, "--claude-binary", world.claude, "-p", PROMPT],
      world.homes.claudePrint,
    );
    const b = await costOf([world.claude, "-p", PROMPT], world.homes.printMode);
    if (round === 0) continue;
    ours.push(a);
    theirs.push(b);
  }
  const row = (what: string, key: keyof Cost, { unit, digits }: Unit): Row => {
    const value = median(ours.map((cost) => cost[key]));
    const other = median(theirs.map((cost) => cost[key]));
    return {
      what,
      value: `${value.toFixed(digits)} ${unit}`,
      against: `claude -p, ${other.toFixed(digits)} ${unit}`,
      ratio: value / other,
    };
  };
  return [
    row("CPU time, all processes", "cpuSeconds", { unit: "s", digits: 2 }),
    row("peak memory, all processes", "peakMb", { unit: "MB", digits: 0 }),
    row("peak disk in TMPDIR", "tempMb", { unit: "MB", digits: 2 }),
    row("disk kept", "keptMb", { unit: "MB", digits: 2 }),
  ];
}

interface Unit {
  readonly unit: string;
  readonly digits: number;
}

/** Runs a command under a shell that tells the times of all it waited for. */
async function costOf(command: readonly string[], home: ThrowawayHome): Promise<Cost> {
  const keptBefore = megabytesBelow(home.config);
  const child = new Deno.Command("/bin/sh", {
    args: ["-c", '"$@" >/dev/null || exit 1; times', "sh", ...command],
    cwd: home.project,
    clearEnv: true,
    env: { ...home.env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let peakMb = 0;
  let tempMb = 0;
  const look = setInterval(() => {
    peakMb = Math.max(peakMb, memoryOf(child.pid));
    tempMb = Math.max(tempMb, megabytesBelow(home.tmp));
  }, TICK_MS);
  const { success, stdout, stderr } = await child.output().finally(() => clearInterval(look));
  if (!success) {
    throw new Error(`${command[0]} failed: ${new TextDecoder().decode(stderr)}`);
  }
  return {
    cpuSeconds: childrenSeconds(new TextDecoder().decode(stdout)),
    peakMb,
    tempMb,
    keptMb: megabytesBelow(home.config) - keptBefore,
  };
}

/** The second line of `times`: user and system time of the children, such as `0m1.230000s 0m0.120000s`. */
function childrenSeconds(times: string): number {
  const [, children = ""] = times.trimEnd().split("\n");
  return [...children.matchAll(/(\d+)m([\d.]+)s/gu)]
    .reduce((sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds), 0);
}

/** What the descendants of a process hold together, in MB; the shell itself does not count. */
function memoryOf(root: number): number {
  const parents = new Map<number, number>();
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/u.test(name)) continue;
    const stat = read(`/proc/${name}/stat`);
    const parent = stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const belongs = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent === root || (parent !== undefined && parent > 1 && belongs(parent));
  };
  const kibibytes = [...parents.keys()].filter(belongs).map((pid) =>
    Number(/^Pss:\s+(\d+) kB$/mu.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0)
  );
  return kibibytes.reduce((sum, one) => sum + one, 0) * 1024 / 1_000_000;
}

function megabytesBelow(folder: string): number {
  let bytes = 0;
  try {
    for (const { name, isDirectory } of Deno.readDirSync(folder)) {
      const path = `${folder}/${name}`;
      bytes += isDirectory ? megabytesBelow(path) * 1_000_000 : sizeOf(path);
    }
  } catch {
    // The run has just removed it.
  }
  return bytes / 1_000_000;
}

/** What a file takes on the disk, in bytes; blocks are of 512. */
function sizeOf(path: string): number {
  try {
    return (Deno.lstatSync(path).blocks ?? 0) * 512;
  } catch {
    return 0;
  }
}

function read(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    // A process that has ended, or belongs to somebody else.
    return "";
  }
}
