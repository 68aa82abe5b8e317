import { ERRNO, LibcError } from "../../../ffi/errno.ts";
import { fileAt } from "../../../ffi/files/at_path.ts";
import { stopIgnoringSigchld } from "../../../ffi/processes/own_signals.ts";
import { killGroup } from "../../../ffi/processes/process.ts";
import { CliError } from "../../cli_error.ts";
import { realPath } from "../../paths.ts";
import { compareVersions, OLDEST_VERSION } from "../versions/compare_versions.ts";

/** Time `--version` may take, in milliseconds: measured 8 (2.1.330). */
const VERSION_TIMEOUT_MS = 5000;

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
    // Whatever it started goes with it: an orphan would hold the pipe open for as long as it likes.
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
 * The version Claude Code gives itself, as `claudeVersion` asks for it.
 *
 * @throws {CliError} when there can be no process that says it
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

/** What an error says whose cause is that there are as many processes as there may be. */
export function tooManyProcessesError(error: unknown): CliError | undefined {
  if (!(error instanceof LibcError)) return undefined;
  if (error.call !== "posix_spawnp" || error.errno !== ERRNO.EAGAIN) return undefined;
  return new CliError("Cannot start claude: there are as many processes as there may be", {
    suggestion: "End some, or raise the limit: ulimit -u, or that of the container",
    cause: error,
  });
}

/** Versions that have been asked for, by the executable, and by what the shim of a version manager goes by. */
const versions = new Map<string, string>();
const MOST_VERSIONS = 100;

/**
 * The version Claude Code gives itself, which this process asks for once, as long as the program is the same.
 *
 * @param options.trustsScripts whether a script is taken to start the same Claude Code as before
 * @param options.ask asks the program
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
  // Deno names variables in another order each time.
  const key = JSON.stringify([program, cwd, Object.entries(env).toSorted()]);
  const known = versions.get(key);
  if (known !== undefined) return known;
  const version = await askNow();
  if (version !== undefined && versions.size < MOST_VERSIONS) versions.set(key, version);
  return version;
}

/** What of an executable is another one as soon as it is; undefined for one that cannot be looked at. */
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
 * Refuses a Claude Code that is older than the support window. An unknown version, such as that of a wrapper, passes.
 *
 * @throws {CliError} when it is too old
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
 * The supported version that the path of an executable names: `…/claude/versions/2.1.332`, as Claude Code's installer
 * does, or `…/2.1.332/claude`. Then a run need not ask for the version, which takes 8 to 60 ms.
 */
export function supportedVersionIn(binary: string): string | undefined {
  const version = /\/(\d+\.\d+\.\d+)(?:\/claude)?$/u.exec(realPath(binary))?.[1];
  return version !== undefined && isSupported(version) ? version : undefined;
}

function isSupported(version: string): boolean {
  return compareVersions(version, OLDEST_VERSION) >= 0;
}

/** Whether a program is a script, which may start another Claude Code tomorrow and stay as it is. */
export function isScript(path: string): boolean {
  try {
    using file = Deno.openSync(path);
    const begin = new Uint8Array(2);
    return file.readSync(begin) === 2 && new TextDecoder().decode(begin) === "#!";
  } catch {
    return false;
  }
}
