import { ERRNO, LibcError } from "../../../ffi/errno.ts";
import { fileAt } from "../../../ffi/files/at_path.ts";
import { heedChildren } from "../../../ffi/processes/own_signals.ts";
import { killGroup } from "../../../ffi/processes/process.ts";

/** Time `--version` may take, in milliseconds: measured 8 (2.1.330). */
const LIMIT_MS = 5000;

/**
 * The version Claude Code gives itself with `--version`, such as `2.1.330`.
 *
 * @param options.cwd the working directory, by which the shim of a version manager may choose; that of this program if
 * absent, and none in particular if it is gone, which whoever is to work there is told later
 * @returns `undefined` when the executable is not Claude Code, or does not answer in time
 * @throws {LibcError} when there are as many processes as there may be
 */
export async function claudeVersion(
  binary: string,
  env: Readonly<Record<string, string>>,
  { cwd }: { readonly cwd?: string } = {},
): Promise<string | undefined> {
  try {
    heedChildren();
    const child = new Deno.Command(binary, {
      args: ["--version"],
      env,
      ...(cwd === undefined ? {} : { cwd: fileAt(cwd)?.isDirectory === true ? cwd : "/" }),
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "null",
      detached: true,
    }).spawn();
    // Whatever it started goes with it: an orphan would hold the pipe open for as long as it likes.
    const timer = setTimeout(() => killGroup(child.pid, "SIGKILL"), LIMIT_MS);
    const { stdout } = await child.output().finally(() => clearTimeout(timer));
    const text = new TextDecoder().decode(stdout);
    return /^(\d+\.\d+\.\d+[\w.+-]*) \(Claude Code\)/u.exec(text)?.[1];
  } catch (error) {
    if (!(error instanceof Deno.errors.WouldBlock)) return undefined;
    throw new LibcError(ERRNO.EAGAIN, { call: "posix_spawnp", action: "start", path: binary });
  }
}
