import { type Environment, pathVariable } from "../environment.ts";
import { absoluteDir, isBelow } from "../../paths.ts";
import { CliError } from "../../cli_error.ts";
import { namesIn } from "../../../ffi/files/at_path.ts";
import { removeEmpty } from "../remove_folder.ts";

/** Folders for temporary files on every Linux. */
const COMMON_PLACES = ["/tmp", "/var/tmp"];

/**
 * Lists the places where runs may have their private folders, without links and duplicates: `TMPDIR`, `XDG_RUNTIME_DIR`
 * (which is never a working directory), `/tmp` and `/var/tmp`.
 */
export function listPlaces(env: Environment): readonly [string, ...string[]] {
  const runtimeDir = env["XDG_RUNTIME_DIR"] ?? "";
  const first = absoluteDir(tempDir(env));
  const others = [...(runtimeDir.startsWith("/") ? [runtimeDir] : []), ...COMMON_PLACES].map(
    absoluteDir,
  );
  return [first, ...new Set(others.filter((place) => place !== first))];
}

/** @throws {CliError} if `TMPDIR` is not UTF-8 */
function tempDir(env: Environment): string {
  return pathVariable(env, "TMPDIR") || "/tmp";
}

/**
 * Orders the places for a run: those that its tools cannot write to come first, then the preferred one. A tool that can
 * write above the private folder can rename a folder on its path. Then rules about the path do not hold, and the run may
 * execute the tool's files.
 *
 * @param all the places, the preferred one first
 * @param options.folders the working directory and every added directory
 * @param options.writable these and the folders that settings add. Settings may name every place; then `folders` decides
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
 * Returns the folder that holds the private folders of all of this user's runs in a place. It is one folder, so that a run
 * can close it to its tools and so protect all other runs, later ones included.
 *
 * Its name can be guessed. If another user has taken the name, the folder has a random ending.
 */
export function folderOfRuns(place: string): string {
  const usual = usualFolder(place);
  if (!isTakenByOther(usual)) return usual;
  const [own] = randomFolders(place);
  return own ?? newRandomFolder(place);
}

/** Lists all folders of this user's runs in a place. The one for new runs comes first. */
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
    // It does not exist, or this user cannot see it.
    return false;
  }
}

const RANDOM_ENDING = /^-[0-9a-f]{8}$/u;

/** This user's folders with a random ending, sorted. */
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

/** Another user has made the folder of runs after its name was chosen. */
export class ForeignFolderError extends CliError {
  constructor(runs: string) {
    super(`Cannot create a private folder: ${runs} belongs to another user`, {
      suggestion: "Remove it, or set TMPDIR to a folder of your own",
    });
  }
}

/** How often `makeFolderIn` tries. Other runs remove an empty folder of runs. */
const TRIES = 100;

/**
 * Makes a folder in a folder of runs, and the folder of runs if needed.
 *
 * @returns its path
 * @throws {ForeignFolderError} if another user has taken the folder of runs
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

/** Checks the owner again. The folder of runs is not empty now, so no run removes it, but it may have been replaced before. */
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
 * Returns why a path is not a private folder of this user; undefined if it is one. Links are not followed, because another
 * user may have made them.
 *
 * @throws {Deno.errors.NotFound} if the path does not exist
 */
export function whyForeign(path: string): string | undefined {
  const { isDirectory, uid, mode } = Deno.lstatSync(path);
  if (!isDirectory) return "it is not a folder";
  if (uid !== Deno.uid()) return "it is another user's";
  return ((mode ?? 0) & 0o777) === 0o700 ? undefined : "others may enter it";
}
