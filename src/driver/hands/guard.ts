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
  #pid: number | undefined;

  /**
   * Starts the guard of a run.
   *
   * @param configDir the child's `CLAUDE_CONFIG_DIR`
   * @param options.child names the child, so that its tools are found by it whatever they have done to their environment
   * @param options.terminal the child's terminal, which does not hang up before the guard has seen what it runs
   * @throws {LibcError} when there is no `/bin/sh`, or no process to be had
   */
  start(
    configDir: string,
    { child, terminal }: { readonly child?: number; readonly terminal?: Pty } = {},
  ): void {
    this.#pid = spawn("/bin/sh", {
      args: ["-c", GUARD_SCRIPT, "guard", configDir, `${readProcessStat("self")?.session}`],
      env: { LC_ALL: "C" },
      cwd: "/",
      stdin: this.#pipe.readFd,
      ...(terminal === undefined ? {} : { held: terminal.fd }),
    });
    this.#pipe.closeReadEnd();
    const startTime = child === undefined ? undefined : readProcessStat(child)?.startTime;
    if (startTime === undefined) return;
    writeFd(this.#pipe.writeFd, new TextEncoder().encode(`${child}/${startTime}\n`));
  }

  /** Ends the guard, if it has been started; a second call does nothing. */
  [Symbol.dispose](): void {
    if (this.#pid !== undefined) killAndReap(this.#pid);
    this.#pid = undefined;
    this.#pipe[Symbol.dispose]();
  }
}
