import { entryAt, fileAt } from "../../../ffi/files/at_path.ts";
import { CliError } from "../../cli_error.ts";
import { type Environment, pathVariable } from "../../sandbox/environment.ts";

/** A folder of this program in the user's cache, with the folders that it stands in. */
interface CachePlace {
  /** The user's cache, such as `~/.cache`. */
  readonly base: string;
  /** This program's folder in it. */
  readonly program: string;
  readonly folder: string;
}

/** The path of `$XDG_CACHE_HOME/claude-print/NAME`; undefined where no cache is known. */
export function cacheFolder(env: Environment, name: string): string | undefined {
  return placeOf(env, name)?.folder;
}

/**
 * Why a folder of the cache is not believed, if it is not: another user may put something into it, or put another folder in
 * its place.
 *
 * @throws {Deno.errors.NotFound} when there is none
 */
export function cacheFolderProblem(env: Environment, name: string): string | undefined {
  const place = placeOf(env, name);
  if (place === undefined) return "no cache is known";
  if (isReplaceableByOthers(place.base)) return `others may write to ${place.base}`;
  return ownershipProblem(place.program, "folder") ?? ownershipProblem(place.folder, "folder");
}

/**
 * Why a file or folder is not believed, if it is not: it is another user's, others may write to it, or it is a link.
 *
 * @throws {Deno.errors.NotFound} when there is nothing
 */
export function ownershipProblem(path: string, kind: "folder" | "file"): string | undefined {
  const { isDirectory, isFile, isSymlink, uid, mode } = Deno.lstatSync(path);
  if (isSymlink) return `${path} is a symbolic link`;
  if (!(kind === "folder" ? isDirectory : isFile)) return `${path} is no ${kind}`;
  if (uid !== Deno.uid()) return `${path} belongs to another user`;
  return ((mode ?? 0) & 0o022) === 0 ? undefined : `others may write to ${path}`;
}

/**
 * Makes a folder of the cache, readable by the user alone, and checks it as `cacheFolderProblem()` does.
 *
 * @param action begins the message of an error, such as `Cannot keep the profile`
 * @throws {CliError} when it cannot be made or is not the user's own
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
  // The XDG base directory specification has programs ignore a relative path.
  const cache = pathVariable(env, "XDG_CACHE_HOME");
  const home = pathVariable(env, "HOME");
  const base = cache?.startsWith("/") ? cache : home ? `${home}/.cache` : undefined;
  if (base === undefined) return undefined;
  const program = `${base}/claude-print`;
  return { base, program, folder: `${program}/${name}` };
}

/** Whether others may put something else in the place of the user's folders in a folder. */
function isReplaceableByOthers(folder: string): boolean {
  const mode = fileAt(folder)?.mode ?? 0;
  return (mode & 0o1002) === 0o002;
}
