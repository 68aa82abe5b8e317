import { CliError } from "../../cli_error.ts";
import { removeEmpty } from "../on_disk.ts";

/**
 * The folder that holds the private folders of all of this user's runs in a place. It is one, so that a run can keep
 * its tools away from all others by its name, those included that do not run yet.
 */
export function folderOfRuns(place: string): string {
  return `${place}/claude-print-${Deno.uid()}`;
}

/** The folder of runs is another user's, who may have come first: its name can be guessed. */
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
