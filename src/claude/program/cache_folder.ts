import { entryAt, fileAt } from "../../../ffi/files/at_path.ts";
import { CliError } from "../../cli_error.ts";
import { type Environment, pathVariable } from "../../sandbox/environment.ts";

/** A folder of this program in the user's cache, and its parent folders. */
interface CachePlace {
  /** The user's cache, such as `~/.cache`. */
  readonly base: string;
  /** This program's folder in the cache. */
  readonly program: string;
  readonly folder: string;
}

/** Returns the path of `$XDG_CACHE_HOME/claude-print/NAME`; undefined if the environment names no cache and no home. */
export function cacheFolder(env: Environment, name: string): string | undefined {
  return placeOf(env, name)?.folder;
}

/**
 * Returns why a folder of the cache cannot be trusted: another user can write into it, or can replace it.
 *
 * @returns undefined if it can be trusted
 * @throws {Deno.errors.NotFound} if the folder does not exist
 */
export function cacheFolderProblem(env: Environment, name: string): string | undefined {
  const place = placeOf(env, name);
  if (place === undefined) return "no cache is known";
  if (isReplaceableByOthers(place.base)) return `others may write to ${place.base}`;
  return ownershipProblem(place.program, "folder") ?? ownershipProblem(place.folder, "folder");
}

/**
 * Returns why a file or folder cannot be trusted: it belongs to another user, others can write to it, or it is a link.
 *
 * @returns undefined if it can be trusted
 * @throws {Deno.errors.NotFound} if the path does not exist
 */
export function ownershipProblem(path: string, kind: "folder" | "file"): string | undefined {
  const { isDirectory, isFile, isSymlink, uid, mode } = Deno.lstatSync(path);
  if (isSymlink) return `${path} is a symbolic link`;
  if (!(kind === "folder" ? isDirectory : isFile)) return `${path} is no ${kind}`;
  if (uid !== Deno.uid()) return `${path} belongs to another user`;
  return ((mode ?? 0) & 0o022) === 0 ? undefined : `others may write to ${path}`;
}

/**
 * Makes a folder of the cache with mode 0700 and checks it as `cacheFolderProblem()` does.
 *
 * @param action the beginning of an error message, such as `Cannot keep the profile`
 * @throws {CliError} if the folder cannot be made or cannot be trusted
 */
export function makeCacheFolder(env: Environment, name: string, action: string): string {
  const suggestion = "Set XDG_CACHE_HOME to a folder of your own";
  const place = placeOf(env, name);
  if (place === undefined) {
    throw new CliError(`${action}: neither XDG_CACHE_HOME nor HOME names a folder`, { suggestion });
  }
  let problem: string | undefined;
  try {
    Deno.mkdirSync(place.base, { recursive: true, mode: 0o700 });
    for (const path of [place.program, place.folder]) {
      if (entryAt(path) === undefined) Deno.mkdirSync(path, { mode: 0o700 });
    }
    problem = cacheFolderProblem(env, name);
  } catch (cause) {
    throw new CliError(`${action}: ${(cause as Error).message}`, { suggestion, cause });
  }
  if (problem !== undefined) throw new CliError(`${action}: ${problem}`, { suggestion });
  return place.folder;
}

function placeOf(env: Environment, name: string): CachePlace | undefined {
  // Programs must ignore a relative path (XDG base directory specification).
  const cache = pathVariable(env, "XDG_CACHE_HOME");
  const home = pathVariable(env, "HOME");
  const base = cache?.startsWith("/") ? cache : home ? `${home}/.cache` : undefined;
  if (base === undefined) return undefined;
  const program = `${base}/claude-print`;
  return { base, program, folder: `${program}/${name}` };
}

/** Returns true if other users can rename entries of the folder: they can write to it, and it has no sticky bit. */
function isReplaceableByOthers(folder: string): boolean {
  const mode = fileAt(folder)?.mode ?? 0;
  return (mode & 0o1002) === 0o002;
}
