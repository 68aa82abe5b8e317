import { cString, cStringArray } from "../c_string.ts";
import { checked, lastErrno, LibcError } from "../errno.ts";
import { libc } from "../libc.ts";
import { SIGNALS } from "./signals.ts";

/** SIG_DFL of signal(2). */
const DEFAULT_ACTION = null;

const O_RDONLY = 0;
const O_CLOEXEC = 0o2000000;

/**
 * Replaces this program by another one, with the same process, terminal, folder, environment and fds 0 to 2 (execv(3)).
 *
 * Resets SIGPIPE, which Deno ignores, so that the program has the signal dispositions that the shell gave to this one.
 * Returns only by throwing. Runs no cleanup of this program, so there must be nothing to clean up.
 *
 * @param file path of the executable
 * @param options.stdin the path of a file that is opened as fd 0 and then removed
 * @throws LibcError ENOENT, EACCES and similar errors when `file` cannot be executed, E2BIG for an argument over 128
 * KiB.
 * @throws TypeError for a string that holds a NUL.
 */
export function exec(
  file: string,
  args: readonly string[],
  { stdin }: { readonly stdin?: string } = {},
): never {
  const c = libc();
  if (stdin !== undefined) {
    const attempt = { call: "open", action: "open the file for stdin", path: stdin };
    checked(c.dup2(checked(c.open(cString(stdin), O_RDONLY | O_CLOEXEC), attempt), 0), attempt);
    Deno.removeSync(stdin);
  }
  c.signal(SIGNALS.SIGPIPE, DEFAULT_ACTION);
  c.execv(cString(file), cStringArray([file, ...args]));
  throw new LibcError(lastErrno(), { call: "execv", action: "start", path: file });
}
