import { type Environment, pathVariable } from "../environment.ts";
import { absoluteDir, isBelow } from "../../paths.ts";
import { CliError } from "../../cli_error.ts";
import { namesIn } from "../../../ffi/files/at_path.ts";
import { removeEmpty } from "../remove_folder.ts";

/** Where temporary files may go on every Linux. */
const COMMON_PLACES = ["/tmp", "/var/tmp"];

/**
 * The places where runs may have their private folders, without links and each once: `TMPDIR`, then `XDG_RUNTIME_DIR`,
 * which is never a working directory, then `/tmp` and `/var/tmp`.
 */
export function listPlaces(env: Environment): readonly [string, ...string[]] {
  const runtimeDir = env["XDG_RUNTIME_DIR"] ?? "";
  const first = absoluteDir(tempDir(env));
  const others = [...(runtimeDir.startsWith("/") ? [runtimeDir] : []), ...COMMON_PLACES].map(
    absoluteDir,
  );
  return [first, ...new Set(others.filter((place) => place !== first))];
}

/**
 * The folder in which runs have their private folders: `TMPDIR`, as for Claude Code itself.
 *
 * @throws {CliError} when it is not UTF-8
 */
function tempDir(env: Environment): string {
  return pathVariable(env, "TMPDIR") || "/tmp";
}

/**
 * Orders the places for a run: those that its tools cannot write to come first. If tools can write everywhere, the
 * preferred place is used. A tool that can write above the private folder can rename a folder on its path, so that rules
 * about the path do not hold, and can make the run execute its files.
 *
 * @param all the places there are, the preferred one first
 * @param options.folders the working directory and every added directory
 * @param options.writable these and what settings add: they may name every place, so that the run is where it is easy to
 * reach, if they were all that counts
 */
export function orderPlaces(
  all: readonly [string, ...string[]],
  { folders, writable }: {
    readonly folders: readonly string[];
    readonly writable: readonly string[];
  },
): readonly [string, ...string[]] {
  const [first] = all;
  const closedTo = (open: readonly string[]) => all.filter((place) => !canToolsWrite(place, open));
  const ordered = new Set([...closedTo(writable), ...closedTo(folders), first]);
  const [best = first, ...others] = ordered;
  return [best, ...others];
}

/** Whether tools that can write to some folders can write to the runs in a place. */
function canToolsWrite(place: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isBelow(folderOfRuns(place), folder));
}

/**
 * The folder that holds the private folders of all of this user's runs in a place. It is one, so that a run can keep
 * its tools away from all others by its name, those included that do not run yet.
 *
 * Its name can be guessed. Where another user has taken it, the folder has a random ending, by which only this user's own
 * folder is found again.
 */
export function folderOfRuns(place: string): string {
  const usual = usualFolder(place);
  if (!isTakenByOther(usual)) return usual;
  const [own] = randomFolders(place);
  return own ?? newRandomFolder(place);
}

/** All folders of this user's runs in a place, whether or not the usual name is still taken: that for further runs first. */
export function foldersOfRuns(place: string): readonly [string, ...string[]] {
  const first = folderOfRuns(place);
  return [first, ...randomFolders(place).filter((path) => path !== first)];
}

function usualFolder(place: string): string {
  return `${place}/claude-print-${Deno.uid()}`;
}

function isTakenByOther(path: string): boolean {
  try {
    const { isDirectory, uid } = Deno.lstatSync(path);
    return !isDirectory || uid !== Deno.uid();
  } catch {
    // There is nothing, or nothing that this user can see.
    return false;
  }
}

const RANDOM_ENDING = /^-[0-9a-f]{8}$/u;

/** The folders with a random ending that are this user's, in a fixed order. */
function randomFolders(place: string): readonly string[] {
  const usual = usualFolder(place);
  return namesIn(place).map((name) => `${place}/${name}`)
    .filter((path) => path.startsWith(usual) && RANDOM_ENDING.test(path.slice(usual.length)))
    .filter(isPrivate)
    .toSorted();
}

function isPrivate(path: string): boolean {
  try {
    return whyForeign(path) === undefined;
  } catch {
    return false;
  }
}

/** The random name that this process gives a folder of runs in each place. */
const newFolders = new Map<string, string>();

function newRandomFolder(place: string): string {
  const known = newFolders.get(place);
  if (known !== undefined) return known;
  const path = `${usualFolder(place)}-${crypto.randomUUID().slice(0, 8)}`;
  newFolders.set(place, path);
  return path;
}

/** Another user has made the folder of runs since its name was chosen. */
export class ForeignFolderError extends CliError {
  constructor(runs: string) {
    super(`Cannot create a private folder: ${runs} belongs to somebody else`, {
      suggestion: "Remove it, or set TMPDIR to a folder of your own",
    });
  }
}

/** How often `makeFolderIn` tries again: other runs remove an empty folder of runs. */
const TRIES = 100;

/**
 * Makes a folder in a folder of runs, which is made too if needed.
 *
 * @returns its path
 * @throws {ForeignFolderError} when somebody else has put something in the place of the folder of runs
 */
export function makeFolderIn(runs: string, name: string): string {
  for (let tries = 1;; tries++) {
    try {
      Deno.mkdirSync(runs, { mode: 0o700 });
    } catch (error) {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    }
    try {
      checkOwner(runs);
      Deno.mkdirSync(`${runs}/${name}`, { mode: 0o700 });
      recheckOwner(runs, name);
      return `${runs}/${name}`;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound && tries < TRIES) continue;
      if (!(error instanceof ForeignFolderError)) removeEmpty(runs);
      throw error;
    }
  }
}

/** Checks the owner again: the folder of runs is not empty now, so no run removes it, but it may have been replaced before. */
function recheckOwner(runs: string, name: string): void {
  try {
    checkOwner(runs);
  } catch (error) {
    removeEmpty(`${runs}/${name}`);
    throw error;
  }
}

function checkOwner(runs: string): void {
  const { isDirectory, uid, mode } = Deno.lstatSync(runs);
  if (!isDirectory || uid !== Deno.uid()) throw new ForeignFolderError(runs);
  if (((mode ?? 0) & 0o777) !== 0o700) Deno.chmodSync(runs, 0o700);
}

/**
 * Why a path is no private folder of this user; undefined if it is one. Links are not followed, because another user may
 * have made them.
 *
 * @throws {Deno.errors.NotFound} when there is nothing
 */
export function whyForeign(path: string): string | undefined {
  const { isDirectory, uid, mode } = Deno.lstatSync(path);
  if (!isDirectory) return "it is no folder";
  if (uid !== Deno.uid()) return "it is another user's";
  return ((mode ?? 0) & 0o777) === 0o700 ? undefined : "others may enter it";
}
