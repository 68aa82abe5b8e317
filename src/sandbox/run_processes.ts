import { LibcError } from "../../ffi/errno.ts";
import { readProcFile, readProcPids } from "../../ffi/processes/proc.ts";
import { kill, killGroup } from "../../ffi/processes/process.ts";

/** What `/proc/<pid>/stat` says of a process (proc(5)). Pid and start time together are never given to a later one. */
interface ProcessStat {
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

/** The marks by which the processes of a run are found. */
export interface RunMarks {
  /** The child's `CLAUDE_CONFIG_DIR`, which every program of the run inherits unless it is taken away. */
  readonly configDir: string;
  /** The `CLAUDE_CONFIG_DIR` of the headless helper, which must not outlive a run that was killed. */
  readonly helperDir?: string;
  /** The child's pid, as long as it has not been reaped. */
  readonly child?: number;
}

/** The living processes of a run, and the sessions by which later ones are found. */
export interface RunProcesses {
  readonly living: readonly ProcessStat[];
  /** The sessions that are the run's, by their number, with the start time of the process that leads or led it. */
  readonly sessions: ReadonlyMap<number, string>;
}

/** How often processes are searched again that were started while others were killed. */
const KILL_ROUNDS = 100;

/** How often processes are searched again that were started while others were stopped. */
const STOP_ROUNDS = 20;

/** How long processes may take to end after SIGTERM, and how often they are checked, in milliseconds. */
const GRACE_MS = 500;
const LOOK_MS = 10;

/**
 * Finds the living processes of a run.
 *
 * Tools run in sessions of their own, outlive their parents and may clear their environment, so one mark is not
 * enough. A process is the run's
 *
 * - if it is the child, or descends from a process of the run, whoever it has become since,
 * - if it is this user's and has one of the run's config dirs in its environment, which other users may claim too,
 * - if it is in a session that is the run's: one that a process of the run leads, or led at an earlier look. Whoever
 *   entered a session of somebody else's with that environment brings in no one but himself.
 *
 * Whose a process is tells its real user id: a program with the set-user-ID bit shows another effective one.
 *
 * @param earlier what an earlier look found: its sessions are searched too
 */
export function findRunProcesses(marks: RunMarks, earlier?: RunProcesses): RunProcesses {
  const processes = allProcesses();
  const own = processes.get(Deno.pid)?.session;
  const sessions = new Map(earlier?.sessions);
  for (const [session, startTime] of sessions) {
    const leader = processes.get(session);
    // The number belongs to another session by now.
    if (leader !== undefined && leader.startTime !== startTime) sessions.delete(session);
  }
  const entries = [marks.configDir, marks.helperDir].filter((dir) => dir !== undefined)
    .map((dir) => `CLAUDE_CONFIG_DIR=${dir}`);
  // Nothing of a run comes into this program's session, so nothing in there is ever the run's.
  let others = [...processes.values()].filter(({ session }) => session !== own);
  const found = new Map<number, ProcessStat>();
  const take = (isOfRun: (process: ProcessStat) => boolean) => {
    const taken = others.filter(isOfRun);
    others = others.filter((process) => !taken.includes(process));
    for (const process of taken) {
      found.set(process.pid, process);
      if (process.session === process.pid) sessions.set(process.pid, process.startTime);
    }
    return taken.length > 0;
  };
  take(({ pid }) =>
    pid === marks.child || (hasEnvironmentEntry(entries, pid) && isOfThisUser(pid))
  );
  while (take(({ parent, session }) => found.has(parent) || sessions.has(session)));
  return { living: [...found.values()].filter(({ ended }) => !ended), sessions };
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
  let found = stopRunProcesses(marks, earlier);
  for (let round = 0; round < KILL_ROUNDS && found.living.length > 0; round++) {
    signalAll(found, "SIGKILL");
    found = findRunProcesses(marks, found);
  }
  return found.living;
}

/**
 * Stops all processes of a run with SIGSTOP. A process that is in a session of its own and has cleared its environment is
 * found only while its parent lives.
 */
function stopRunProcesses(marks: RunMarks, earlier?: RunProcesses): RunProcesses {
  let found = findRunProcesses(marks, earlier);
  for (let round = 0; round < STOP_ROUNDS && found.living.length > 0; round++) {
    const { living } = found;
    signalAll(found, "SIGSTOP");
    found = findRunProcesses(marks, found);
    const isKnown = ({ pid, startTime }: ProcessStat) =>
      living.some((one) => one.pid === pid && one.startTime === startTime);
    if (found.living.every(isKnown)) break;
  }
  return found;
}

function signalAll({ living, sessions }: RunProcesses, signal: "SIGSTOP" | "SIGKILL"): void {
  // What starts a successor and ends, again and again, is caught only as a group.
  const inSessions = living.filter(({ session }) => sessions.has(session));
  for (const group of new Set(inSessions.map(({ group }) => group))) {
    ignoreFailure(() => killGroup(group, signal));
  }
  for (const { pid, startTime } of living) {
    if (readProcessStat(pid)?.startTime === startTime) ignoreFailure(() => kill(pid, signal));
  }
}

/**
 * Sends SIGTERM to all processes of a run, and kills those that do not end within `GRACE_MS`. Claude Code writes its
 * transcript and ends within 80 ms. Blocks meanwhile.
 *
 * @returns those that live all the same
 */
export function endRunProcesses(marks: RunMarks): readonly ProcessStat[] {
  let found = findRunProcesses(marks);
  for (const { pid } of found.living) ignoreFailure(() => kill(pid, "SIGTERM"));
  const deadline = performance.now() + GRACE_MS;
  while (found.living.length > 0 && performance.now() < deadline) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_MS);
    found = findRunProcesses(marks, found);
  }
  return killRunProcesses(marks, found);
}

/** A program that changed its user cannot be signalled; the others still can. */
function ignoreFailure(signal: () => void): void {
  try {
    signal();
  } catch {
    // Reported as living.
  }
}

/** All processes, including zombies: the processes that they have started still descend from them. */
function allProcesses(): ReadonlyMap<number, ProcessStat> {
  const processes = new Map<number, ProcessStat>();
  for (const pid of readProcPids()) {
    const stat = readProcessStat(pid);
    // Session 0 is what a container's processes have whose session began outside of it, and the kernel's own.
    if (stat !== undefined && stat.session !== 0) processes.set(stat.pid, stat);
  }
  return processes;
}

function hasEnvironmentEntry(entries: readonly string[], pid: number): boolean {
  return readProcText(`/proc/${pid}/environ`).split("\0").some((each) => entries.includes(each));
}

function isOfThisUser(pid: number): boolean {
  const [, real] = /^Uid:\t(\d+)/mu.exec(readProcText(`/proc/${pid}/status`)) ?? [];
  return Number(real) === Deno.uid();
}

function readProcText(path: string): string {
  try {
    return new TextDecoder().decode(readProcFile(path));
  } catch (error) {
    // It has ended, or it is somebody else's.
    if (error instanceof LibcError) return "";
    throw error;
  }
}
