import { holdInPool } from "./hold_in_pool.ts";
import { Pool } from "../../src/server/pool/pool.ts";
import type { Row } from "./row.ts";
import type { World } from "./world.ts";

/** How many Claude Codes wait. */
const WAITING = 8;

const MAX_PERCENT = 1;

/** How long they are left to themselves before they are watched, and then watched, in milliseconds. */
const SETTLING_MS = 15_000;
const WATCHED_MS = 30_000;

/** Ticks of the clock by which Linux counts CPU time. */
const TICKS_PER_S = 100;

/** Measures what Claude Codes cost that wait in a pool: CPU time, theirs and this program's, and memory. */
export async function measureIdle(
  world: World,
  { onRound }: { readonly onRound: (text: string) => void },
): Promise<readonly Row[]> {
  const tell = (text: string) => onRound(text);
  await using pool = new Pool({ warm: WAITING, max: WAITING, idleMs: 3_600_000, report: tell });
  await holdInPool(pool, world);
  onRound(`${WAITING} start and wait`);
  const countReady = () => pool.entries.reduce((sum, { ready }) => sum + ready, 0);
  while (countReady() < WAITING) await sleep(200);
  await sleep(SETTLING_MS);
  const all = descendants(Deno.pid);
  const [own, theirs] = [cpuOf([Deno.pid]), cpuOf(all)];
  onRound(`${WAITING} wait`);
  await sleep(WATCHED_MS);
  const percent = (ticks: number) => ticks / TICKS_PER_S / (WATCHED_MS / 1000) * 100;
  const ours = percent(cpuOf([Deno.pid]) - own);
  const childrens = percent(cpuOf(all) - theirs);
  const claudes = all.filter((pid) => nameOf(pid) !== "sh");
  const pss = claudes.reduce((sum, pid) => sum + pssOf(pid), 0) / WAITING;
  const total = ours + childrens;
  return [{
    what: `CPU, ${WAITING} waiting`,
    value: `${total.toFixed(2)} % of a core`,
    against: `${ours.toFixed(2)} % claude-print, ${childrens.toFixed(2)} % Claude Code`,
    ratio: total / MAX_PERCENT,
    target: { text: `<= ${MAX_PERCENT} %`, ok: total <= MAX_PERCENT },
  }, {
    what: "memory of each",
    value: `${(pss / 1024).toFixed(0)} MB`,
    against: `PSS, with what stands beside it`,
  }];
}

const sleep = (ms: number) => new Promise((over) => setTimeout(over, ms));

const read = (path: string) => {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
};

/** The fields of `/proc/PID/stat` behind the name of the program. */
function statOf(pid: number): readonly string[] {
  const text = read(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function descendants(pid: number): readonly number[] {
  const parents = [...Deno.readDirSync("/proc")].map(({ name }) => Number(name))
    .filter((each) => Number.isInteger(each)).map((each) =>
      [each, Number(statOf(each)[1])] as const
    );
  const below = (of: number): readonly number[] =>
    parents.filter(([, parent]) => parent === of).flatMap(([each]) => [each, ...below(each)]);
  return below(pid);
}

/** CPU time that processes have taken, their ended children included, in ticks. */
function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => {
    const [user, system, ofChildren, systemOfChildren] = statOf(pid).slice(11, 15).map(Number);
    const own = (user ?? 0) + (system ?? 0);
    return sum + own + (pid === Deno.pid ? (ofChildren ?? 0) + (systemOfChildren ?? 0) : 0);
  }, 0);
}

const nameOf = (pid: number) => read(`/proc/${pid}/comm`).trim();

/** In KB. */
const pssOf = (pid: number) =>
  Number(/^Pss:\s+(\d+)/mu.exec(read(`/proc/${pid}/smaps_rollup`))?.[1]);
