import { readProcFile } from "../../../ffi/proc.ts";

/**
 * Whether this program has its terminal to itself: a shell that started it with `&` shows its own prompt there.
 *
 * True without a controlling terminal, where there is no shell to be in the way of (proc_pid_stat(5): `pgrp` and
 * `tpgid`).
 */
export function isInForeground(): boolean {
  try {
    const stat = new TextDecoder().decode(readProcFile("/proc/self/stat"));
    // The command's name in parentheses may hold anything; the rest follows its last parenthesis.
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return foreground === "-1" || foreground === group;
  } catch {
    return true;
  }
}
