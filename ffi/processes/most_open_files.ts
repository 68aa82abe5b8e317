import { readProcFile } from "./proc.ts";

/** How many files this process may have open at once (`ulimit -n`); Infinity without a limit. */
export function mostOpenFiles(): number {
  const limits = new TextDecoder().decode(readProcFile("/proc/self/limits"));
  return Number(/^Max open files +(\d+)/mu.exec(limits)?.[1] ?? Infinity);
}
