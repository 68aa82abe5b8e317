import { LibcError } from "../../ffi/errno.ts";
import { mostOpenFiles } from "../../ffi/processes/proc.ts";
import { readProcFile } from "../../ffi/processes/proc.ts";
import { CliError } from "../cli_error.ts";
import { readProcessStat } from "./run_processes.ts";

/**
 * How many files have to be allowed at once: with fewer than 23 Claude Code answers, but starts no hook that says so
 * (2.1.330), and some more are for servers and what else a run may have.
 */
const FEWEST_FILES = 48;

/**
 * Sees to it that what every run builds on is there, which is not so in every container and chroot: `/proc`,
 * `/dev/null`, a shell for hooks and the guard, and as many files as it takes.
 *
 * @throws {CliError} when one of them is missing
 */
export function requireSystem(): void {
  requireProc();
  try {
    readProcFile("/dev/null");
  } catch (cause) {
    if (!(cause instanceof LibcError)) throw cause;
    throw new CliError(`Cannot use /dev/null: ${cause.description}`, {
      suggestion: "Make it anew: mknod -m 666 /dev/null c 1 3",
      cause,
    });
  }
  if (!isProgram("/bin/sh")) {
    throw new CliError("Cannot run hooks: /bin/sh is not there, or no program", {
      suggestion: "Install a shell, such as dash or busybox",
    });
  }
  const files = mostOpenFiles();
  if (files >= FEWEST_FILES) return;
  throw new CliError(`Cannot run claude: only ${files} files may be open at once`, {
    suggestion: "Raise the limit: ulimit -n 1024",
  });
}

function isProgram(path: string): boolean {
  try {
    const { isFile, mode } = Deno.statSync(path);
    return isFile && ((mode ?? 0) & 0o111) !== 0;
  } catch {
    return false;
  }
}

/**
 * Sees to it that `/proc` is there: it alone tells which processes are a run's, and which runs still go on.
 *
 * @throws {CliError} when it is not
 */
export function requireProc(): void {
  if (readProcessStat("self") !== undefined) return;
  throw new CliError("Cannot tell a run's processes from others: /proc is not mounted", {
    suggestion: "Mount it: mount -t proc proc /proc",
  });
}
