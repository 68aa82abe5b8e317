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

/** The npm package that holds the executable for this machine, one file `claude` of 400 MB. */
const PACKAGE = `@anthropic-ai/claude-code-linux-${
  Deno.build.arch === "aarch64" ? "arm64" : "x64"
}`;

/** A version as npm names it. It is safe as a part of a path and as an argument: it begins with a digit and has no "/". */
const VERSION = /^\d+\.\d+\.\d+(?:-[\w.-]+)?$/u;
/** Time for the list of versions, in milliseconds: npm gives up on an unreachable registry after 75 s. */
const LIST_TIMEOUT_MS = 180_000;
/** Time for a download, in milliseconds: 180 MB at 1 Mbit/s take 24 minutes. */
const FETCH_TIMEOUT_MS = 1_800_000;
/** Least room for a download, in bytes: the package has 180 MB and its executable 400 MB (2.1.332). */
const MIN_FREE_BYTES = 700_000_000;
/** Most that npm may print, in bytes: the list of 500 versions has 10 kB. */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** Where a release comes from, and how it is fetched. */
export interface ReleaseOptions {
  /** The caller's environment: npm reads the user's registry, proxy, certificates and login by it. */
  readonly env: Environment;
  /** Ends npm, with everything that it has started, once it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** A release that is on this machine until it is disposed of. */
export interface FetchedRelease extends Disposable {
  readonly version: string;
  /** The path of its executable. */
  readonly binary: string;
}

/** The registry lacks a version, or its executable does not run here: another version may well be fetched. */
export class UnusableReleaseError extends CliError {}

/** Whether a text is a version, such as `2.1.330`, and no path and no name of a program. */
export function isVersion(text: string): boolean {
  return VERSION.test(text);
}

/**
 * The versions of Claude Code on the user's registry, the oldest first, without prereleases.
 *
 * @throws {CliError} when npm cannot be run or the registry does not answer
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
    // What is no JSON names no version.
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
 * Fetches a release of Claude Code: the one that Claude Code's own installer keeps below the user's home, or that of the
 * user's cache, or else from npm, which verifies its checksum. No script of the package is run.
 *
 * Without `keep` a download is in a private temporary folder, and is removed when the release is disposed of. With `keep` it
 * is moved to `$XDG_CACHE_HOME/claude-print/releases/VERSION/claude` when it is complete, with its SHA-512 in
 * `claude.sha512`. A release of the cache is used if its files and folders are the user's own and not writable by others,
 * and its SHA-512 is the one that was noted.
 *
 * @param version such as `2.1.330`, or `latest`
 * @throws {UnusableReleaseError} when the registry does not have it, or it does not run here
 * @throws {CliError} when it cannot be fetched or kept; nothing of it is left then
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

/** The executable of a version that Claude Code's own installer has put below the user's home. */
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
  // npm 11 gives its prefix the mode 0755: the private folder itself would not be swept after SIGKILL.
  const prefix = `${folder}/npm`;
  Deno.mkdirSync(prefix);
  await runNpm([
    ...["install", "--prefix", prefix, "--cache", cache, "--ignore-scripts", "--global=false"],
    ...["--no-save", "--no-audit", "--no-fund", "--no-package-lock", `${PACKAGE}@${version}`],
  ], {
    ...{ action, signal, cwd: folder, limitMs: FETCH_TIMEOUT_MS, writesTo: { folder, isKept } },
    // By this variable a sweep finds the processes of a folder: npm outlives a SIGKILL of this program.
    env: { ...env, CLAUDE_CONFIG_DIR: folderParts(folder).configDir },
  });
  removeFolder(cache);
  const binary = `${prefix}/node_modules/${PACKAGE}/claude`;
  if (fileAt(binary)?.isFile === true) return binary;
  throw new UnusableReleaseError(`${action}: npm has put no executable into ${folder}`, {
    suggestion: `Look what the package holds: npm pack --dry-run ${PACKAGE}@${version}`,
  });
}

/** What npm prints of an error beside its reason, by the first word of a line. */
const NOT_A_REASON = /^(?:$|(?:code|errno|syscall|path|dest|file) |A complete log )/u;

/** Runs npm, and returns what it has printed to stdout. */
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
  /** Whether it is in the user's cache, and not among temporary files. */
  readonly isKept: boolean;
}

function roomRemedy({ folder, isKept }: WrittenFolder): string {
  const variable = isKept ? "XDG_CACHE_HOME" : "TMPDIR";
  return `Free ${MIN_FREE_BYTES / 1e6} MB in ${folder}, or set ${variable} to a folder with room`;
}

/** What to do about an error of npm's by its code. */
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

/** The name of the folder of releases in this program's folder of the user's cache. */
const RELEASES_FOLDER = "releases";

/** The executable of a version in the user's cache, if it is there and can be believed. */
async function cachedRelease(version: string, env: Environment): Promise<string | undefined> {
  const releases = cacheFolder(env, RELEASES_FOLDER);
  if (releases === undefined || version === "latest") return undefined;
  try {
    if (cacheFolderProblem(env, RELEASES_FOLDER) !== undefined) return undefined;
  } catch {
    // It is not there.
    return undefined;
  }
  return await verifiedBinary(`${releases}/${version}`);
}

/** The executable in a folder of the cache, if all is the user's own and has the SHA-512 that was noted. */
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
    // It is not there, or cannot be read.
    return undefined;
  }
}

/** The line that `sha512sum --check` reads. */
function checksumLine(sum: string): string {
  return `${sum}  claude\n`;
}

async function sha512(path: string): Promise<string> {
  const hash = createHash("sha512");
  const file = await Deno.open(path);
  for await (const chunk of file.readable) hash.update(chunk);
  return hash.digest("hex");
}

/** Moves a downloaded release into the cache: the folder of its version is there with both files, or not at all. */
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
    // What is there is none that can be believed, or another process has put it there since.
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
