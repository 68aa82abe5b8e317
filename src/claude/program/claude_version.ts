import { ERRNO, LibcError } from "../../../ffi/errno.ts";
import { fileAt } from "../../../ffi/files/at_path.ts";
import { stopIgnoringSigchld } from "../../../ffi/processes/own_signals.ts";
import { killGroup } from "../../../ffi/processes/process.ts";
import { CliError } from "../../cli_error.ts";
import { realPath } from "../../paths.ts";
import { compareVersions, OLDEST_VERSION } from "../versions/compare_versions.ts";

/** The time limit of `--version` in milliseconds. Claude Code 2.1.330 takes 8 ms. */
const VERSION_TIMEOUT_MS = 5000;

/**
 * Asks an executable for its version with `--version`, such as `2.1.330`.
 *
 * @param options.cwd the working directory, which the shim of a version manager may read. By default that of this program.
 * A folder that does not exist is replaced by `/`, because a later step reports it
 * @returns undefined if the executable is not Claude Code, or does not answer in time
 * @throws {LibcError} if the limit of processes is reached
 */
export async function claudeVersion(
  binary: string,
  env: Readonly<Record<string, string>>,
  { cwd }: { readonly cwd?: string } = {},
): Promise<string | undefined> {
  try {
    stopIgnoringSigchld();
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
    // Kills the whole process group: a process that the executable started could keep the pipe open.
    const timer = setTimeout(() => killGroup(child.pid, "SIGKILL"), VERSION_TIMEOUT_MS);
    const { stdout } = await child.output().finally(() => clearTimeout(timer));
    const text = new TextDecoder().decode(stdout);
    return /^(\d+\.\d+\.\d+[\w.+-]*) \(Claude Code\)/u.exec(text)?.[1];
  } catch (error) {
    if (!(error instanceof Deno.errors.WouldBlock)) return undefined;
    throw new LibcError(ERRNO.EAGAIN, { call: "posix_spawnp", action: "start", path: binary });
  }
}

/**
 * Runs `--version` as `claudeVersion` does.
 *
 * @throws {CliError} if no more processes may be started
 */
export async function askVersion(
  ...parameters: Parameters<typeof claudeVersion>
): Promise<string | undefined> {
  try {
    return await claudeVersion(...parameters);
  } catch (error) {
    throw tooManyProcessesError(error) ?? error;
  }
}

/** Returns the error for the user if a process could not start because of the limit of processes; else undefined. */
export function tooManyProcessesError(error: unknown): CliError | undefined {
  if (!(error instanceof LibcError)) return undefined;
  if (error.call !== "posix_spawnp" || error.errno !== ERRNO.EAGAIN) return undefined;
  return new CliError("Cannot start claude: there are as many processes as there may be", {
    suggestion: "End some, or raise the limit: ulimit -u, or that of the container",
    cause: error,
  });
}

/** Known versions by the identity of the executable, the working directory and the environment. */
const versions = new Map<string, string>();
const MOST_VERSIONS = 100;

/**
 * Asks for the version as `askVersion` does, once for each executable, working directory and environment. A script is asked
 * each time, because it can start another Claude Code without a change of its file.
 *
 * @param options.trustsScripts asks a script once, too
 * @param options.ask asks the executable; replaced in tests
 * @throws {CliError} as `askVersion` does, and for a version that is too old
 */
export async function cachedVersion(
  binary: string,
  env: Readonly<Record<string, string>>,
  { cwd, trustsScripts = false, ask = askVersion }: {
    readonly cwd: string;
    readonly trustsScripts?: boolean;
    readonly ask?: typeof askVersion;
  },
): Promise<string | undefined> {
  const program = !trustsScripts && isScript(binary) ? undefined : identityOf(binary);
  const askNow = async () => {
    const version = await ask(binary, env, { cwd });
    refuseOldVersion(version);
    return version;
  };
  if (program === undefined) return await askNow();
  // Deno returns the variables in a different order each time.
  const key = JSON.stringify([program, cwd, Object.entries(env).toSorted()]);
  const known = versions.get(key);
  if (known !== undefined) return known;
  const version = await askNow();
  if (version !== undefined && versions.size < MOST_VERSIONS) versions.set(key, version);
  return version;
}

/** Returns the attributes of an executable that change when it is replaced; undefined if they cannot be read. */
function identityOf(binary: string): readonly unknown[] | undefined {
  try {
    const { dev, ino, size, mtime, ctime } = Deno.statSync(binary);
    return [Deno.realPathSync(binary), dev, ino, size, mtime, ctime];
  } catch {
    return undefined;
  }
}

const UPDATE =
  "Update it: claude update, or npm install -g @anthropic-ai/claude-code; or name a newer one with --claude-binary";

/**
 * Throws for a Claude Code that is older than the support window. Accepts an unknown version, such as that of a wrapper.
 *
 * @throws {CliError} if the version is too old
 */
export function refuseOldVersion(
  version: string | undefined,
  { suggestion = UPDATE }: { readonly suggestion?: string } = {},
): void {
  if (version === undefined || isSupported(version)) return;
  throw new CliError(
    `Claude Code ${version} is too old: claude-print needs ${OLDEST_VERSION} or newer`,
    { suggestion },
  );
}

/**
 * Reads the version from the path of an executable: `…/claude/versions/2.1.332`, as Claude Code's installer names it, or
 * `…/2.1.332/claude`. This saves a run the call of `--version`, which takes 8 to 60 ms.
 *
 * @returns undefined for another path, and for a version that is not supported
 */
export function supportedVersionIn(binary: string): string | undefined {
  const version = /\/(\d+\.\d+\.\d+)(?:\/claude)?$/u.exec(realPath(binary))?.[1];
  return version !== undefined && isSupported(version) ? version : undefined;
}

function isSupported(version: string): boolean {
  return compareVersions(version, OLDEST_VERSION) >= 0;
}

/** Returns true for a script, which can start another Claude Code without a change of its file. */
export function isScript(path: string): boolean {
  try {
    using file = Deno.openSync(path);
    const begin = new Uint8Array(2);
    return file.readSync(begin) === 2 && new TextDecoder().decode(begin) === "#!";
  } catch {
    return false;
  }
}
