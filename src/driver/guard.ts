/**
 * A tiny process beside a run that outlives this program when it is killed by SIGKILL.
 *
 * The kernel then hangs up the child's terminal, which ends a child that does not ignore that, but none of its
 * tools, which have sessions of their own. A parent-death signal (`setpriv --pdeathsig`) reaches no tool either,
 * and one that kills costs the end of the transcript, which Claude Code writes when its terminal hangs up.
 *
 * @module
 */

import { Pipe } from "../../ffi/pipe.ts";
import { killAndReap } from "../../ffi/process.ts";
import { spawn } from "../../ffi/spawn.ts";

/**
 * Waits for the end of a pipe that nobody writes to. Then it gives the run 0.3 s to end by the hang-up, and kills
 * until nothing of it is left, by the marks of `findRunProcesses`; it starts to look at once, because the child
 * may be gone before its tools are.
 *
 * A look takes two programs, however many processes there are. Lines that are no line of `/proc/<pid>/stat` come
 * from a command's name, which may hold any character.
 */
const SCRIPT = `
trap '' HUP INT QUIT TERM
read -r _
entry=$1 sessions=' ' newline='
'
has() { case $1 in *" $2 "*) ;; *) return 1 ;; esac; }
look() {
  found=' ' living=' ' table=
  IFS=$newline
  for file in $(grep -slF -e "$entry" /proc/[0-9]*/environ); do
    file=\${file#/proc/} found="$found\${file%/environ} "
  done
  for line in $(cat /proc/[0-9]*/stat); do
    pid=\${line%% *} rest=\${line#*) }
    case $rest in *') '*) rest=\${rest##*) } ;; esac
    case $rest in [ZX]*) continue ;; esac
    rest=\${rest#? } parent=\${rest%% *} rest=\${rest#* }
    group=\${rest%% *} rest=\${rest#* } session=\${rest%% *}
    case $pid$parent$group in *[!0-9]*) continue ;; esac
    case $session in 0 | *[!0-9]*) continue ;; esac
    living="$living$pid " table="$table$pid $parent $group $session$newline"
  done
  before=
  until [ "$found$sessions" = "$before" ]; do
    before=$found$sessions groups=
    IFS=$newline
    for line in $table; do
      IFS=' '
      set -- $line
      if ! has "$found" $1; then
        has "$found" $2 || has "$sessions" $4 || continue
        found="$found$1 "
      fi
      if has "$sessions" $4; then groups="$groups-$3 "
      elif has "$found" $4 || ! has "$living" $4; then sessions="$sessions$4 "
      fi
    done
  done
}
round=0
while look; [ "$found" != ' ' ] && [ $round -lt 100 ]; do
  round=$((round + 1)) IFS=' '
  if [ $round -le 6 ]; then sleep 0.05 || sleep 1; else kill -s KILL -- $groups$found; fi
done
`;

/** Ends what is left of a run when this program is killed; disposing it ends the guard and nothing else. */
export class Guard implements Disposable {
  readonly #pipe = new Pipe();
  readonly #pid: number;
  #armed = true;

  /**
   * Starts the guard of the run whose child has this `CLAUDE_CONFIG_DIR`.
   *
   * @param options.path where `sh` finds its programs
   * @throws {LibcError} when there is no `/bin/sh`, or no process or pipe to be had
   */
  constructor(configDir: string, options: { readonly path: string | undefined }) {
    // A pattern of grep is a line. The last one of the path has the folder's random name in it.
    const [entry = ""] = `CLAUDE_CONFIG_DIR=${configDir}`.split("\n").slice(-1);
    try {
      this.#pid = spawn("/bin/sh", {
        args: ["-c", SCRIPT, "guard", entry],
        env: { PATH: options.path ?? "/usr/bin:/bin", LC_ALL: "C" },
        cwd: "/",
        stdin: this.#pipe.readFd,
      });
    } catch (error) {
      this.#pipe[Symbol.dispose]();
      throw error;
    }
    this.#pipe.closeReadEnd();
  }

  /** Ends the guard; a second call does nothing. */
  [Symbol.dispose](): void {
    if (!this.#armed) return;
    this.#armed = false;
    killAndReap(this.#pid);
    this.#pipe[Symbol.dispose]();
  }
}
