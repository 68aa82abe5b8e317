/**
 * A small process that ends the rest of a run when this program is killed by SIGKILL.
 *
 * After a SIGKILL, the kernel would hang up the child's terminal. That ends the child, unless it ignores SIGHUP, but
 * not its tools: they have sessions of their own, and have lost their parents by then. So the guard also keeps the
 * terminal open, finds the child's descendants, and then closes the terminal. A parent-death signal (`setpriv
 * --pdeathsig`) does not reach tools either. With SIGKILL it would also cost the end of the transcript, which Claude
 * Code writes at the hang-up.
 *
 * @module
 */

import { writeFd } from "../../../ffi/descriptors/fd.ts";
import { Pipe } from "../../../ffi/descriptors/pipe.ts";
import { killAndReap } from "../../../ffi/processes/process.ts";
import type { Pty } from "../../../ffi/terminal/pty.ts";
import { spawn } from "../../../ffi/processes/spawn.ts";
import { readProcessStat } from "../../sandbox/run_processes.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";

/** Ends the rest of a run when this program is killed. Disposing the guard ends only the guard itself. */
export class Guard implements Disposable {
  readonly #pipe = new Pipe();
  readonly #pid: number;
  #armed = true;

  /**
   * Starts the guard of a run.
   *
   * @param dirs the `CLAUDE_CONFIG_DIR` of the child that is about to be started, and that of its headless helper
   * @param options.terminal the child's terminal, which the guard keeps open until it has found the child's descendants
   * @throws {LibcError} when there is no `/bin/sh`, or no process or pipe can be created
   */
  constructor(
    { configDir, helperDir }: { readonly configDir: string; readonly helperDir: string },
    { terminal }: { readonly terminal?: Pty } = {},
  ) {
    const session = `${readProcessStat("self")?.session}`;
    try {
      this.#pid = spawn("/bin/sh", {
        args: ["-c", GUARD_SCRIPT, "guard", configDir, helperDir, session],
        env: { LC_ALL: "C" },
        cwd: "/",
        stdin: this.#pipe.readFd,
        ...(terminal === undefined ? {} : { passedFds: [terminal.fd] }),
      });
    } catch (error) {
      this.#pipe[Symbol.dispose]();
      throw error;
    }
    this.#pipe.closeReadEnd();
  }

  /**
   * Tells the guard the child's pid, so that the guard finds the child's tools even if they have changed their
   * environment.
   */
  watch(child: number): void {
    const startTime = readProcessStat(child)?.startTime;
    if (startTime === undefined) return;
    writeFd(this.#pipe.writeFd, new TextEncoder().encode(`${child}/${startTime}\n`));
  }

  /** Ends the guard; a second call does nothing. */
  [Symbol.dispose](): void {
    if (!this.#armed) return;
    this.#armed = false;
    killAndReap(this.#pid);
    this.#pipe[Symbol.dispose]();
  }
}

/** Signals that cannot be ignored (SIGKILL, SIGSTOP), or that do not end a process. */
const NOT_IGNORED: readonly number[] = [
  SIGNALS.SIGKILL,
  SIGNALS.SIGSTOP,
  SIGNALS.SIGCONT,
  SIGNALS.SIGCHLD,
];
/** The real-time signals, including the two that glibc reserves (signal(7)). */
const REAL_TIME = Array.from({ length: 31 }, (_, index) => 34 + index);

/** The guard ignores signals that are sent to all processes of a job. The run receives them, and ends its guard. */
const IGNORED = [
  ...Object.values(SIGNALS).filter((each) => !NOT_IGNORED.includes(each)),
  ...REAL_TIME,
];

/**
 * The guard as a script for any POSIX shell. Its arguments are the child's config dir, that of the headless helper, and
 * the session of this program.
 *
 * It reads stdin until all writers have closed it. The last line, if any, is the child's pid and start time, as
 * `12/3456`. Its fd 3 is the child's terminal. When it has found the child's descendants, it closes fd 3, gives the
 * child 0.6 s to write the end of its transcript and to exit, and then stops and kills processes until none of the run
 * is left. `findRunProcesses` has the rules for which processes belong to a run. Lists of processes and sessions look
 * like ` 12/3456 78/9012 `.
 *
 * The shell does everything without starting a process, because tools may have used up the limit of processes. So it
 * cannot sleep. A shell's `read` drops the NULs of an environment.
 */
export const GUARD_SCRIPT = `
trap '' ${IGNORED.join(" ")}
entry=CLAUDE_CONFIG_DIR=$1 helper=CLAUDE_CONFIG_DIR=$2 spared=$3 child=
tab='\t' newline='
'
while read -r line; do child=$line; done

holds() { case $1 in *" $2/"*) ;; *) return 1 ;; esac; }
read_stat() {
  line=
  # A command's name may hold any character; what follows its last parenthesis does not.
  while IFS= read -r part; do line=$part; done < "/proc/$1/stat"
  IFS=' '
  set -- \${line##*) }
  state=$1 parent=$2 group=$3 session=$4 start=\${20}
}
read_uid() {
  while IFS=$tab read -r name uid _; do
    if [ "$name" = Uid: ]; then return; fi
  done < "/proc/$1/status"
  uid=
}
is_marked() {
  if ! [ -O "/proc/$1/environ" ]; then return 1; fi
  text=
  while IFS= read -r part || [ "$part" ]; do text=$text$part$newline part=; done < "/proc/$1/environ"
  case $text in
    *"$entry"* | *"$helper"*) read_uid "$1" && [ "$uid" = "$own" ] ;;
    # For a moment a process that begins a program has no environment.
    ?*) unmarked="$unmarked$1/$2 "; return 1 ;;
    *) return 1 ;;
  esac
}
take() {
  found="$found$1/$5 "
  if [ "$1" = "$4" ] && ! holds "$sessions" "$1"; then sessions="$sessions$1/$5 "; fi
}
spread() {
  before=
  until [ "$found$sessions" = "$before" ]; do
    before=$found$sessions IFS=$newline
    for line in $table; do
      IFS=' '
      set -- $line
      if holds "$found" "$1"; then continue; fi
      if holds "$found" "$2" || holds "$sessions" "$4"; then take "$@"; fi
    done
  done
}
look() {
  table= found=' ' living=' ' groups= saw_itself=
  for folder in /proc/[0-9]*; do
    pid=\${folder#/proc/}
    read_stat "$pid"
    if [ "$pid" = $$ ]; then saw_itself=1; fi
    case $session in '' | 0 | 1 | "$spared") continue ;; esac
    if holds "$sessions" "$pid"; then
      case $sessions in
        *" $pid/$start "*) ;;
        # The number belongs to another session by now.
        *) rest=\${sessions#* "$pid"/} sessions="\${sessions%% "$pid"/*} \${rest#* }" ;;
      esac
    fi
    table="$table$pid $parent $group $session $start $state$newline"
    if [ "$pid/$start" = "$child" ]; then take "$pid" "$parent" "$group" "$session" "$start"; fi
  done
  spread
  if [ "$began" = '' ]; then
    exec 3>&-
    read_uptime
    began=$now
  fi
  IFS=$newline
  for line in $table; do
    IFS=' '
    set -- $line
    if holds "$found" "$1"; then continue; fi
    case $unmarked in *" $1/$5 "*) continue ;; esac
    if is_marked "$1" "$5"; then take "$@"; fi
  done
  spread
  IFS=$newline
  for line in $table; do
    IFS=' '
    set -- $line
    case $6 in [ZX]) continue ;; esac
    if ! holds "$found" "$1"; then continue; fi
    living="$living$1/$5 "
    if holds "$sessions" "$4"; then groups="$groups-$3 "; fi
  done
}
signal_all() {
  IFS=' '
  # What starts a successor and ends, again and again, is caught only as a group.
  if [ "$groups" ]; then kill -s "$1" -- $groups; fi
  for each in $living; do
    read_stat "\${each%/*}"
    if [ "$start" = "\${each#*/}" ]; then kill -s "$1" "\${each%/*}"; fi
  done
}
read_uptime() {
  read -r now _ < /proc/uptime
  now=\${now%.*}\${now#*.}
  # A number that begins with 0 would be octal.
  while :; do case $now in 0?*) now=\${now#0} ;; *) return ;; esac; done
}

read_uid $$
own=$uid sessions=' ' unmarked=' ' round=0 quiet=0 began= stopped=
while [ $round -lt 100 ] && [ $quiet -lt 2 ]; do
  look
  if [ "$living" = ' ' ] && [ "$saw_itself" ]; then
    quiet=$((quiet + 1))
    continue
  fi
  quiet=0
  read_uptime
  case $living in
    *" $child "*) waits=1 ;;
    *) waits=; if [ "$child" = '' ]; then waits=1; fi ;;
  esac
  if [ "$waits" ] && [ $((now - began)) -lt 60 ]; then continue; fi
  round=$((round + 1))
  # What one begins without a mark of the run is found by that one alone: all stand still before they are killed.
  if [ "$living" != "$stopped" ] && [ $round -lt 20 ]; then
    stopped=$living
    signal_all STOP
    continue
  fi
  signal_all KILL
done
`;
