import { LibcError } from "../../ffi/errno.ts";
import { readProcFile, readProcPids } from "../../ffi/processes/proc.ts";
import { kill, killGroup } from "../../ffi/processes/process.ts";

/** Fields of `/proc/<pid>/stat` (proc(5)). No later process has the same pid and start time. */
interface ProcessStat {
  readonly pid: number;
  /** Clock ticks since boot. */
  readonly startTime: string;
  readonly parent: number;
  /** Process group and session. Each is the pid of its leader, which may have ended. */
  readonly group: number;
  readonly session: number;
  /** Whether it is stopped by a signal. */
  readonly stopped: boolean;
  /** Whether it has ended and is not reaped yet. */
  readonly ended: boolean;
}

/** Reads the fields of a process; undefined if it does not exist. */
export function readProcessStat(pid: number | "self"): ProcessStat | undefined {
  let text: string;
  try {
    text = new TextDecoder().decode(readProcFile(`/proc/${pid}/stat`));
  } catch (error) {
    if (error instanceof LibcError) return undefined;
    throw error;
  }
  // The command's name is in parentheses and may contain any character.
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
  /** The child's `CLAUDE_CONFIG_DIR`. Programs of the run inherit it, unless one removes it. */
  readonly configDir: string;
  /** The `CLAUDE_CONFIG_DIR` of the headless helper. */
  readonly helperDir?: string;
  /** The child's pid, as long as it has not been reaped. */
  readonly child?: number;
}

/** The living processes of a run, and its sessions, by which later processes are found. */
export interface RunProcesses {
  readonly living: readonly ProcessStat[];
  /** The start times of the leaders of the run's sessions, by session. */
  readonly sessions: ReadonlyMap<number, string>;
}

/** How often processes are searched again, because new ones may start while others are killed. */
const KILL_ROUNDS = 100;

/** How often processes are searched again, because new ones may start while others are stopped. */
const STOP_ROUNDS = 20;

/** How long processes may take to end after SIGTERM, and how often they are checked, in milliseconds. */
const GRACE_MS = 500;
const LOOK_MS = 10;

/**
 * Finds the living processes of a run.
 *
 * Tools run in sessions of their own, outlive their parents and may clear their environment, so one mark is not
 * enough. A process belongs to the run
 *
 * - if it is the child, or descends from a process of the run, even as another user,
 * - if it belongs to this user and has one of the run's config dirs in its environment (another user could set that too),
 * - if it is in a session of the run: one that a process of the run leads, or led at an earlier search. A process with that
 *   environment in a session of another program does not make the session the run's.
 *
 * A process belongs to its real user id. A program with the set-user-ID bit has another effective one.
 *
 * @param earlier the result of an earlier search. Its sessions are searched too
 */
export function findRunProcesses(marks: RunMarks, earlier?: RunProcesses): RunProcesses {
  const processes = allProcesses();
  const own = processes.get(Deno.pid)?.session;
  const sessions = new Map(earlier?.sessions);
  for (const [session, startTime] of sessions) {
    const leader = processes.get(session);
    // The pid was reused.
    if (leader !== undefined && leader.startTime !== startTime) sessions.delete(session);
  }
  const entries = [marks.configDir, marks.helperDir].filter((dir) => dir !== undefined)
    .map((dir) => `CLAUDE_CONFIG_DIR=${dir}`);
  // A run starts its own sessions, so no process of this program's session belongs to it.
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
 * Kills all processes of a run, and searches again until none lives, because each may have started another.
 *
 * @returns processes that still live, for example one that hangs in the kernel
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
 * Stops all processes of a run with SIGSTOP. A process in its own session without the environment is found only while its
 * parent lives.
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
  // A process that starts a successor and ends, again and again, is caught only by a signal to its group.
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
 * transcript and ends within 80 ms. Blocks this process.
 *
 * @returns processes that still live
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

/** Lists all processes. Zombies are included, because their children still descend from them. */
function allProcesses(): ReadonlyMap<number, ProcessStat> {
  const processes = new Map<number, ProcessStat>();
  for (const pid of readProcPids()) {
    const stat = readProcessStat(pid);
    // Session 0: kernel threads, and processes of a container whose session began outside.
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
    // It has ended, or belongs to another user.
    if (error instanceof LibcError) return "";
    throw error;
  }
}
