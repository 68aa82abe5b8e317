/** A process that cannot be mistaken for a later one with the same pid. */
export interface ProcessId {
  readonly pid: number;
  /** Clock ticks since boot, from `/proc/<pid>/stat` (proc(5)). */
  readonly startTime: string;
}

interface Stat extends ProcessId {
  readonly parent: number;
}

/** All living descendants of a process, nearest first; tools run in sessions of their own, so no process group holds them. */
export function descendantsOf(pid: number): readonly ProcessId[] {
  const children = new Map<number, Stat[]>();
  for (const pid of allPids()) {
    const stat = readStat(pid);
    if (stat === undefined) continue;
    const siblings = children.get(stat.parent);
    if (siblings === undefined) children.set(stat.parent, [stat]);
    else siblings.push(stat);
  }
  const found: Stat[] = [];
  for (let queue = children.get(pid) ?? []; queue.length > 0;) {
    found.push(...queue);
    queue = queue.flatMap((child) => children.get(child.pid) ?? []);
  }
  return found;
}

/** All living processes with this entry in their environment, `NAME=value`: a child that is gone leaves no other trace on them. */
export function processesWith(entry: string): readonly ProcessId[] {
  const found: Stat[] = [];
  for (const pid of allPids()) {
    try {
      if (!Deno.readTextFileSync(`/proc/${pid}/environ`).split("\0").includes(entry)) continue;
    } catch {
      // It has ended, or it is somebody else's.
      continue;
    }
    const stat = readStat(pid);
    if (stat !== undefined) found.push(stat);
  }
  return found;
}

/** Whether the very process still exists. */
export function isAlive({ pid, startTime }: ProcessId): boolean {
  return readStat(pid)?.startTime === startTime;
}

function allPids(): readonly number[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => Number(name)).filter(Number.isInteger);
}

function readStat(pid: number): Stat | undefined {
  let text: string;
  try {
    text = Deno.readTextFileSync(`/proc/${pid}/stat`);
  } catch {
    return undefined;
  }
  // The command's name in parentheses may hold anything; state, parent and the rest follow it.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [, parent] = fields;
  const startTime = fields[19];
  if (parent === undefined || startTime === undefined) return undefined;
  return { pid, parent: Number(parent), startTime };
}
