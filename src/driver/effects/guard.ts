/**
 * A tiny process beside a run that outlives this program when it is killed by SIGKILL.
 *
 * The kernel would hang up the child's terminal then, which ends a child that does not ignore that, but none of its
 * tools, which have sessions of their own, and by then nobody's child may be: so the guard holds the terminal too, looks
 * at what descends from the child, and only then lets it hang up. A parent-death signal (`setpriv --pdeathsig`) reaches no tool either,
 * and one that kills costs the end of the transcript, which Claude Code writes when its terminal hangs up.
 *
 * @module
 */

import { writeFd } from "../../../ffi/descriptors/fd.ts";
import { Pipe } from "../../../ffi/descriptors/pipe.ts";
import { killAndReap } from "../../../ffi/processes/process.ts";
import type { Pty } from "../../../ffi/terminal/pty.ts";
import { spawn } from "../../../ffi/processes/spawn.ts";
import { readProcessStat } from "../../sandbox/processes/process_stat.ts";
import { GUARD_SCRIPT } from "./guard_script.ts";

/** Ends what is left of a run when this program is killed; disposing it ends the guard and nothing else. */
export class Guard implements Disposable {
  readonly #pipe = new Pipe();
  readonly #pid: number;
  #armed = true;

  /**
   * Starts the guard of a run.
   *
   * @param dirs the `CLAUDE_CONFIG_DIR` of the child that is about to be started, and that of a headless Claude Code which
   * may be asked about the session
   * @param options.terminal the child's terminal, which does not hang up before the guard has seen what it runs
   * @throws {LibcError} when there is no `/bin/sh`, or no process or pipe to be had
   */
  constructor(
    { configDir, twinDir }: { readonly configDir: string; readonly twinDir: string },
    { terminal }: { readonly terminal?: Pty } = {},
  ) {
    const session = `${readProcessStat("self")?.session}`;
    try {
      this.#pid = spawn("/bin/sh", {
        args: ["-c", GUARD_SCRIPT, "guard", configDir, twinDir, session],
        env: { LC_ALL: "C" },
        cwd: "/",
        stdin: this.#pipe.readFd,
        ...(terminal === undefined ? {} : { held: [terminal.fd] }),
      });
    } catch (error) {
      this.#pipe[Symbol.dispose]();
      throw error;
    }
    this.#pipe.closeReadEnd();
  }

  /** Names the child, so that its tools are found by it whatever they have done to their environment. */
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
