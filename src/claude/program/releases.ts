import { createHash } from "node:crypto";
import { statfsSync } from "node:fs";
import { entryAt, fileAt } from "../../../ffi/files/at_path.ts";
import { runToEnd } from "../../../ffi/processes/run_to_end.ts";
import { CliError } from "../../cli_error.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { borrowFolder } from "../../sandbox/folder/sweep.ts";
import { folderParts } from "../../sandbox/folder/folder_layout.ts";
import { removeFolder } from "../../sandbox/remove_folder.ts";
import { askVersion } from "./claude_version.ts";
import {
  cacheFolder,
  cacheFolderProblem,
  makeCacheFolder,
  ownershipProblem,
} from "./cache_folder.ts";
import { compareVersions } from "../versions/compare_versions.ts";

/** The npm package with the executable for this machine, one file `claude` of 400 MB. */
const PACKAGE = `@anthropic-ai/claude-code-linux-${
  Deno.build.arch === "aarch64" ? "arm64" : "x64"
}`;

/** A version of npm. It is safe in a path and as an argument, because it begins with a digit and has no "/". */
const VERSION = /^\d+\.\d+\.\d+(?:-[\w.-]+)?$/u;
/** The time limit of the list of versions in milliseconds. npm gives up on an unreachable registry after 75 s. */
const LIST_TIMEOUT_MS = 180_000;
/** The time limit of a download in milliseconds. 180 MB at 1 Mbit/s take 24 minutes. */
const FETCH_TIMEOUT_MS = 1_800_000;
/** The free space that a download needs in bytes. The package of 2.1.332 has 180 MB and its executable 400 MB. */
const MIN_FREE_BYTES = 700_000_000;
/** The accepted output of npm in bytes. The list of 500 versions has 10 kB. */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** How npm is run. */
export interface ReleaseOptions {
  /** The caller's environment. npm takes the registry, proxy, certificates and login from it. */
  readonly env: Environment;
  /** An abort kills npm and all processes that it started. */
  readonly signal?: AbortSignal | undefined;
}

/** A release on this machine. A temporary one is removed when it is disposed. */
export interface FetchedRelease extends Disposable {
  readonly version: string;
  /** The path of the executable. */
  readonly binary: string;
}

/** The registry lacks this version, or its executable does not run here. Other versions may work. */
export class UnusableReleaseError extends CliError {}

/** Returns true for a version, such as `2.1.330`, and false for a path or a program name. */
export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/**
 * Lists the versions of Claude Code on the user's registry, the oldest first, without prereleases.
 *
 * @throws {CliError} if npm cannot be run or the registry does not answer
 * @throws the reason of the signal
 */
export async function listReleases({ env, signal }: ReleaseOptions): Promise<readonly string[]> {
  const action = "Cannot list the versions of Claude Code";
  const printed = await runNpm(["view", PACKAGE, "versions", "--json"], {
    ...{ action, env, signal, cwd: "/", limitMs: LIST_TIMEOUT_MS },
  });
  let listed: unknown;
  try {
    listed = JSON.parse(printed);
  } catch {
    // Other output has no versions.
  }
  const versions = [listed].flat().filter((each): each is string =>
    typeof each === "string" && /^\d+\.\d+\.\d+$/u.test(each)
  );
  if (versions.length === 0) {
    throw new CliError(`${action}: npm named no version`, {
      suggestion: `Look what the registry says: npm view ${PACKAGE} versions`,
    });
  }
  return [...new Set(versions)].toSorted(compareVersions);
}

/**
 * Fetches a release of Claude Code. Looks first where Claude Code's own installer stores versions, then in the user's cache,
 * and downloads it with npm otherwise. npm verifies the checksum and runs no script of the package.
 *
 * Without `keep` the download goes to a private temporary folder, which is removed when the release is disposed. With `keep`
 * the complete download is moved to `$XDG_CACHE_HOME/claude-print/releases/VERSION/claude`, and its SHA-512 is stored in
 * `claude.sha512`. A cached release is used if its files and folders belong to the user, others cannot write to them, and
 * the SHA-512 matches.
 *
 * @param version a version such as `2.1.330`, or `latest`
 * @throws {UnusableReleaseError} if the registry does not have it, or it does not run here
 * @throws {CliError} if it cannot be fetched or kept. No part of it is left
 * @throws the reason of the signal
 */
export async function fetchRelease(
  version: string,
  { keep = false, ...options }: ReleaseOptions & { readonly keep?: boolean },
): Promise<FetchedRelease> {
  const { env, signal } = options;
  const action = `Cannot fetch Claude Code ${version}`;
  if (!isVersion(version) && version !== "latest") {
    throw new CliError(`${action}: it is no version`, {
      suggestion: "Name a version such as 2.1.330",
    });
  }
  signal?.throwIfAborted();
  const existing = await installedRelease(version, env) ?? await cachedRelease(version, env);
  if (existing !== undefined) return { version, binary: existing, [Symbol.dispose]: () => {} };
  const cache = keep ? makeCacheFolder(env, RELEASES_FOLDER, action) : undefined;
  using undo = new DisposableStack();
  const { path: folder } = undo.use(borrowFolder(env, cache === undefined ? {} : { place: cache }));
  const binary = await download(version, { ...options, folder, action, isKept: keep });
  const found = await askVersion(binary, env);
  signal?.throwIfAborted();
  if (found === undefined || (found !== version && version !== "latest")) {
    throw new UnusableReleaseError(
      `${action}: the package holds ${
        found === undefined ? "no Claude Code that runs here" : `version ${found}`
      }`,
      {
        suggestion: "Try another version, or set TMPDIR to a folder whose files may be executed",
      },
    );
  }
  if (cache !== undefined) {
    const kept = await keepRelease(binary, { folder, to: `${cache}/${found}`, action });
    return { version: found, binary: kept, [Symbol.dispose]: () => {} };
  }
  const folderToRemove = undo.move();
  return { version: found, binary, [Symbol.dispose]: () => folderToRemove.dispose() };
}

/** Returns the executable that Claude Code's own installer stored below the user's home, if it is there. */
async function installedRelease(version: string, env: Environment): Promise<string | undefined> {
  const { HOME, XDG_DATA_HOME } = env;
  const data = XDG_DATA_HOME || (HOME && `${HOME}/.local/share`);
  const path = `${data}/claude/versions/${version}`;
  if (!data || fileAt(path)?.isFile !== true) return undefined;
  return await askVersion(path, env) === version ? path : undefined;
}

/** Downloads a version with npm, and returns the path of its executable below the folder. */
async function download(
  version: string,
  { folder, action, isKept, env, signal }: ReleaseOptions & {
    readonly folder: string;
    readonly action: string;
    readonly isKept: boolean;
  },
): Promise<string> {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  if (free < MIN_FREE_BYTES) {
    throw new CliError(`${action}: only ${Math.floor(free / 1e6)} MB are free in ${folder}`, {
      suggestion: roomRemedy({ folder, isKept }),
    });
  }
  const cache = `${folder}/npm-cache`;
  // npm 11 gives its prefix the mode 0755. A later sweep removes only private folders, so the prefix is a subfolder.
  const prefix = `${folder}/npm`;
  Deno.mkdirSync(prefix);
  await runNpm([
    ...["install", "--prefix", prefix, "--cache", cache, "--ignore-scripts", "--global=false"],
    ...["--no-save", "--no-audit", "--no-fund", "--no-package-lock", `${PACKAGE}@${version}`],
  ], {
    ...{ action, signal, cwd: folder, limitMs: FETCH_TIMEOUT_MS, writesTo: { folder, isKept } },
    // npm survives a SIGKILL of this program. A later sweep finds the processes of the folder by this variable.
    env: { ...env, CLAUDE_CONFIG_DIR: folderParts(folder).configDir },
  });
  removeFolder(cache);
  const binary = `${prefix}/node_modules/${PACKAGE}/claude`;
  if (fileAt(binary)?.isFile === true) return binary;
  throw new UnusableReleaseError(`${action}: npm has put no executable into ${folder}`, {
    suggestion: `Look what the package holds: npm pack --dry-run ${PACKAGE}@${version}`,
  });
}

/** Lines of an npm error that do not contain the reason. */
const NOT_A_REASON = /^(?:$|(?:code|errno|syscall|path|dest|file) |A complete log )/u;

/** Runs npm and returns its stdout. */
async function runNpm(
  args: readonly string[],
  { action, env, signal, cwd, limitMs, writesTo }: ReleaseOptions & {
    readonly action: string;
    readonly cwd: string;
    readonly limitMs: number;
    readonly writesTo?: WrittenFolder;
  },
): Promise<string> {
  const limit = AbortSignal.timeout(limitMs);
  let output: Deno.CommandOutput;
  try {
    output = await runToEnd("npm", {
      args: [...args, "--loglevel=error", "--logs-max=0", "--no-update-notifier"],
      cwd,
      env,
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      mostOutput: MAX_OUTPUT_BYTES,
    });
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof Deno.errors.NotFound) {
      throw new CliError(`${action}: npm is not on PATH`, {
        suggestion: "Install Node.js, which brings npm, or add its folder to PATH",
        cause,
      });
    }
    const why = limit.aborted
      ? `npm has not ended within ${limitMs / 60_000} minutes`
      : (cause as Error).message;
    throw new CliError(`${action}: ${why}`, { suggestion: NETWORK_REMEDY, cause });
  }
  const decoder = new TextDecoder();
  if (output.success) return decoder.decode(output.stdout);
  const lines = decoder.decode(output.stderr).split("\n")
    .map((line) => line.replace(/^npm (?:error|ERR!) ?/u, "").trim());
  const code = lines.find((line) => line.startsWith("code "))?.slice("code ".length) ?? "";
  const why =
    lines.find((line) => !NOT_A_REASON.test(line))?.replace(/^(?:404|notarget|nospc) /u, "")
      .slice(0, 500) ?? `npm ended with exit code ${output.code}`;
  const isUnknown = /^(?:E404|ETARGET)$/u.test(code);
  throw new (isUnknown ? UnusableReleaseError : CliError)(`${action}: ${why}`, {
    suggestion: remedy(code, writesTo),
  });
}

const NETWORK_REMEDY = "Try again, and check the registry and the proxy of npm: npm config list";

interface WrittenFolder {
  readonly folder: string;
  /** True in the user's cache, false among temporary files. */
  readonly isKept: boolean;
}

function roomRemedy({ folder, isKept }: WrittenFolder): string {
  const variable = isKept ? "XDG_CACHE_HOME" : "TMPDIR";
  return `Free ${MIN_FREE_BYTES / 1e6} MB in ${folder}, or set ${variable} to a folder with room`;
}

/** Returns what the user can do about an error code of npm. */
function remedy(
  code: string,
  writesTo: WrittenFolder | undefined,
): string {
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
      return writesTo === undefined ? "Make room in npm's cache" : roomRemedy(writesTo);
    case "E404":
    case "ETARGET":
      return `Name a version that the registry has: npm view ${PACKAGE} versions`;
    case "EINTEGRITY":
      return "Try again; if it stays, a proxy or a mirror changes the package: npm config list";
    case "E401":
    case "E403":
    case "ENEEDAUTH":
      return "Sign in to the registry: npm login";
    default:
      return NETWORK_REMEDY;
  }
}

/** The name of the folder of releases, within this program's folder of the user's cache. */
const RELEASES_FOLDER = "releases";

/** Returns the executable of a version in the user's cache, if it is there and can be trusted. */
async function cachedRelease(version: string, env: Environment): Promise<string | undefined> {
  const releases = cacheFolder(env, RELEASES_FOLDER);
  if (releases === undefined || version === "latest") return undefined;
  try {
    if (cacheFolderProblem(env, RELEASES_FOLDER) !== undefined) return undefined;
  } catch {
    // The folder does not exist.
    return undefined;
  }
  return await verifiedBinary(`${releases}/${version}`);
}

/** Returns the executable in a folder of the cache, if its files can be trusted and its SHA-512 matches. */
async function verifiedBinary(folder: string): Promise<string | undefined> {
  const binary = `${folder}/claude`;
  const checksumFile = `${binary}.sha512`;
  try {
    const problem = ownershipProblem(folder, "folder") ?? ownershipProblem(binary, "file") ??
      ownershipProblem(checksumFile, "file");
    if (problem !== undefined || Deno.lstatSync(checksumFile).size > 1000) return undefined;
    const isSame = await Deno.readTextFile(checksumFile) === checksumLine(await sha512(binary));
    return isSame ? binary : undefined;
  } catch {
    // A file does not exist or cannot be read.
    return undefined;
  }
}

/** Formats a checksum as `sha512sum --check` expects it. */
function checksumLine(sum: string): string {
  return `${sum}  claude\n`;
}

async function sha512(path: string): Promise<string> {
  const hash = createHash("sha512");
  const file = await Deno.open(path);
  for await (const chunk of file.readable) hash.update(chunk);
  return hash.digest("hex");
}

/** Moves a downloaded release into the cache. The complete folder with both files is moved by one rename. */
async function keepRelease(
  binary: string,
  { folder, to, action }: {
    readonly folder: string;
    readonly to: string;
    readonly action: string;
  },
): Promise<string> {
  const complete = `${folder}/complete`;
  try {
    await Deno.mkdir(complete, { mode: 0o700 });
    await Deno.rename(await Deno.realPath(binary), `${complete}/claude`);
    await Deno.chmod(`${complete}/claude`, 0o700);
    await Deno.writeTextFile(
      `${complete}/claude.sha512`,
      checksumLine(await sha512(`${complete}/claude`)),
      { mode: 0o600 },
    );
    // An existing folder is invalid, unless another process stored the same release in the meantime.
    if (await verifiedBinary(to) === undefined) {
      if (entryAt(to) !== undefined) await Deno.remove(to, { recursive: true });
      await Deno.rename(complete, to);
    }
  } catch (cause) {
    if (await verifiedBinary(to) !== undefined) return `${to}/claude`;
    throw new CliError(`${action}: ${(cause as Error).message}`, {
      suggestion: `Make room in ${to}, set XDG_CACHE_HOME to another folder, or leave --keep out`,
      cause,
    });
  }
  return `${to}/claude`;
}
