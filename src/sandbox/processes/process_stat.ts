import { LibcError } from "../../../ffi/errno.ts";
import { readProcFile } from "../../../ffi/processes/proc.ts";

/** What `/proc/<pid>/stat` says of a process (proc(5)). Pid and start time together are never given to a later one. */
export interface ProcessStat {
  readonly pid: number;
  /** Clock ticks since boot. */
  readonly startTime: string;
  readonly parent: number;
  /** Process group and session, each named by the pid of the process that leads or led it. */
  readonly group: number;
  readonly session: number;
  /** Whether it is stopped, and does nothing until it is told to go on. */
  readonly stopped: boolean;
  /** Whether it has ended and only waits for its parent to ask. */
  readonly ended: boolean;
}

/** Reads what the kernel says of a process; undefined when there is none with this pid. */
export function readProcessStat(pid: number | "self"): ProcessStat | undefined {
  let text: string;
  try {
    text = new TextDecoder().decode(readProcFile(`/proc/${pid}/stat`));
  } catch (error) {
    if (error instanceof LibcError) return undefined;
    throw error;
  }
  // The command's name in parentheses may hold anything; the rest follows its last parenthesis.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent, group, session] = fields;
  return {
    pid: parseInt(text),
    startTime: fields[19] ?? "",
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    stopped: "Tt".includes(state),
    ended: "ZX".includes(state),
  };
}
