import { CliError } from "../../cli_error.ts";
import { namesIn } from "../../../ffi/files/at_path.ts";
import { removeEmpty } from "../on_disk.ts";
import { whyForeign } from "./why_foreign.ts";

/**
 * The folder that holds the private folders of all of this user's runs in a place. It is one, so that a run can keep
 * its tools away from all others by its name, those included that do not run yet.
 *
 * Its name can be guessed. Where another user has taken it, the folder has a random ending, by which only this user's own
 * folder is found again.
 */
export function folderOfRuns(place: string): string {
  const usual = usualFolder(place);
  if (!isTaken(usual)) return usual;
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

function isTaken(path: string): boolean {
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

/** The folder of runs is another user's, who has made it since its name was chosen. */
export class ForeignFolderError extends CliError {
  constructor(runs: string) {
    super(`Cannot create a private folder: ${runs} belongs to somebody else`, {
      suggestion: "Remove it, or set TMPDIR to a folder of your own",
    });
  }
}

/** How often a folder is made in a folder of runs that other runs remove whenever it is empty. */
const TRIES = 100;

/**
 * Makes a folder in a folder of runs, and that itself if need be.
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
      claim(runs);
      Deno.mkdirSync(`${runs}/${name}`, { mode: 0o700 });
      hold(runs, name);
      return `${runs}/${name}`;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound && tries < TRIES) continue;
      if (!(error instanceof ForeignFolderError)) removeEmpty(runs);
      throw error;
    }
  }
}

/** Looks again, now that nobody can remove it any more: it may have gone since, and somebody else have come in between. */
function hold(runs: string, name: string): void {
  try {
    claim(runs);
  } catch (error) {
    removeEmpty(`${runs}/${name}`);
    throw error;
  }
}

function claim(runs: string): void {
  const { isDirectory, uid, mode } = Deno.lstatSync(runs);
  if (!isDirectory || uid !== Deno.uid()) throw new ForeignFolderError(runs);
  if (((mode ?? 0) & 0o777) !== 0o700) Deno.chmodSync(runs, 0o700);
}
