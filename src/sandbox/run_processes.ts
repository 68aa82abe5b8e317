import { LibcError } from "../../ffi/errno.ts";
import { readProcFile, readProcPids } from "../../ffi/proc.ts";
import { kill, killGroup } from "../../ffi/process.ts";
import { type ProcessStat, readProcessStat } from "./process_stat.ts";

/** How the processes of one run are told from all others. */
export interface RunMarks {
  /** The child's `CLAUDE_CONFIG_DIR`, which every program of the run inherits unless it is taken away. */
  readonly configDir: string;
  /** The child's pid, as long as it has not been reaped. */
  readonly child?: number;
}

/** Processes of a run that live, and what will find those they start from now on. */
export interface RunProcesses {
  readonly living: readonly ProcessStat[];
  /** The sessions that are the run's, by their number, with the start time of the leader as far as it is known. */
  readonly sessions: ReadonlyMap<number, string | undefined>;
}

/** How often is looked again for what was started while the processes before it were killed. */
const ROUNDS = 100;

/** How long processes that were asked to end may take, in milliseconds, and how often they are looked at. */
const GRACE_MS = 500;
const LOOK_MS = 10;

/**
 * Finds the living processes of a run.
 *
 * Tools run in sessions of their own, outlive their parents and may clear their environment, so none of these
 * marks is enough alone: descending from the child, having its config dir in the environment, and being in a
 * session of a process that has one of the other two.
 *
 * @param earlier what an earlier look found: its sessions are searched too
 */
export function findRunProcesses(marks: RunMarks, earlier?: RunProcesses): RunProcesses {
  const living = livingProcesses();
  const own = living.get(Deno.pid)?.session;
  const sessions = new Map(earlier?.sessions);
  for (const [session, startTime] of sessions) {
    const leader = living.get(session);
    // The number belongs to another session by now.
    if (leader !== undefined && leader.startTime !== startTime) sessions.delete(session);
  }
  const entry = `CLAUDE_CONFIG_DIR=${marks.configDir}`;
  // Nothing of a run comes into this program's session, so nothing in there is ever the run's.
  let others = [...living.values()].filter(({ session }) => session !== own);
  const found = new Map<number, ProcessStat>();
  const take = (isOfRun: (process: ProcessStat) => boolean) => {
    const taken = others.filter(isOfRun);
    others = others.filter((process) => !taken.includes(process));
    for (const process of taken) {
      found.set(process.pid, process);
      const leader = living.get(process.session);
      if (leader === undefined) sessions.set(process.session, sessions.get(process.session));
      else if (leader === process) sessions.set(process.pid, process.startTime);
    }
    return taken.length > 0;
  };
  take(({ pid }) => pid === marks.child || hasEntry(pid, entry));
  while (take(({ parent, session }) => found.has(parent) || sessions.has(session)));
  return { living: [...found.values()], sessions };
}

/**
 * Kills all processes of a run, and looks again until none lives: each may have started another meanwhile.
 *
 * @returns those that live all the same, as one does that hangs in the kernel
 */
export function killRunProcesses(
  marks: RunMarks,
  earlier?: RunProcesses,
): readonly ProcessStat[] {
  let found = findRunProcesses(marks, earlier);
  for (let round = 0; round < ROUNDS && found.living.length > 0; round++) {
    // What starts a successor and ends, again and again, is caught only as a group.
    const inSessions = found.living.filter(({ session }) => found.sessions.has(session));
    for (const group of new Set(inSessions.map(({ group }) => group))) {
      send(() => killGroup(group, "SIGKILL"));
    }
    for (const { pid, startTime } of found.living) {
      if (readProcessStat(pid)?.startTime === startTime) send(() => kill(pid, "SIGKILL"));
    }
    found = findRunProcesses(marks, found);
  }
  return found.living;
}

/**
 * Asks all processes of a run to end, as Claude Code does within 80 ms and with its transcript written, and kills
 * what has not ended in time. Blocks meanwhile.
 *
 * @returns those that live all the same
 */
export function endRunProcesses(marks: RunMarks): readonly ProcessStat[] {
  let found = findRunProcesses(marks);
  for (const { pid } of found.living) send(() => kill(pid, "SIGTERM"));
  const deadline = performance.now() + GRACE_MS;
  while (found.living.length > 0 && performance.now() < deadline) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
    found = findRunProcesses(marks, found);
  }
  return killRunProcesses(marks, found);
}

/** A program that changed its user cannot be signalled; the others still can. */
function send(signal: () => void): void {
  try {
    signal();
  } catch {
    // Reported as living.
  }
}

function livingProcesses(): ReadonlyMap<number, ProcessStat> {
  const living = new Map<number, ProcessStat>();
  for (const pid of readProcPids()) {
    const stat = readProcessStat(pid);
    // Session 0 is what a container's processes have whose session began outside of it, and the kernel's own.
    if (stat !== undefined && !stat.ended && stat.session !== 0) living.set(stat.pid, stat);
  }
  return living;
}

function hasEntry(pid: number, entry: string): boolean {
  try {
    const environment = new TextDecoder().decode(readProcFile(`/proc/${pid}/environ`));
    return environment.split("\0").includes(entry);
  } catch (error) {
    // It has ended, or it is somebody else's.
    if (error instanceof LibcError) return false;
    throw error;
  }
}
