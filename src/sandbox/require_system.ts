import { LibcError } from "../../ffi/errno.ts";
import { mostOpenFiles } from "../../ffi/processes/proc.ts";
import { readProcFile } from "../../ffi/processes/proc.ts";
import { CliError } from "../cli_error.ts";
import { readProcessStat } from "./run_processes.ts";

/**
 * The smallest limit of open files. With fewer than 23, Claude Code answers but starts no hooks (2.1.330). MCP servers and
 * others need some more.
 */
const FEWEST_FILES = 48;

/**
 * Checks what every run needs and some containers lack: `/proc`, `/dev/null`, a shell for hooks and the guard process,
 * and enough open files.
 *
 * @throws {CliError} if one of them is missing
 */
export function requireSystem(): void {
  requireProc();
  try {
    readProcFile("/dev/null");
  } catch (cause) {
    if (!(cause instanceof LibcError)) throw cause;
    throw new CliError(`Cannot use /dev/null: ${cause.description}`, {
      suggestion: "Create it: mknod -m 666 /dev/null c 1 3",
      cause,
    });
  }
  if (!isProgram("/bin/sh")) {
    throw new CliError("Cannot run hooks: /bin/sh is missing or is not a program", {
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
 * Checks that `/proc` is mounted. It is needed to find the processes of a run, and to see which runs live.
 *
 * @throws {CliError} if it is not
 */
export function requireProc(): void {
  if (readProcessStat("self") !== undefined) return;
  throw new CliError("Cannot tell a run's processes from others: /proc is not mounted", {
    suggestion: "Mount it: mount -t proc proc /proc",
  });
}
