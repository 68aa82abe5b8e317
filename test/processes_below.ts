/** A process, and the words of its command line. */
export interface FoundProcess {
  readonly pid: number;
  readonly command: readonly string[];
}

/** A process and all that descend from it. */
export function processesBelow(root: number): readonly FoundProcess[] {
  const parents = new Map<number, number>();
  for (const { name } of Deno.readDirSync("/proc")) {
    const stat = /^\d+$/u.test(name) ? readIfThere(`/proc/${name}/stat`) : "";
    const [, parent] = /^\d+ \(.*\) \S (\d+)/su.exec(stat) ?? [];
    if (parent !== undefined) parents.set(Number(name), Number(parent));
  }
  const isBelow = (pid: number | undefined): boolean =>
    pid !== undefined && (pid === root || isBelow(parents.get(pid)));
  return [...parents.keys()].filter(isBelow).map((pid) => ({
    pid,
    command: readIfThere(`/proc/${pid}/cmdline`).split("\0").slice(0, -1),
  }));
}

function readIfThere(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}
