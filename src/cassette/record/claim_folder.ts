import { CliError } from "../../cli_error.ts";
import { CAST_FILE } from "../cassette.ts";

/** A folder that is one recorder's alone. */
export interface ClaimedFolder {
  readonly path: string;
  /** Its cast, in which there is nothing yet: whoever has made that file has the folder. */
  readonly cast: Deno.FsFile;
  /** Takes away what was made for the recording. */
  readonly giveUp: () => void;
}

const SUGGESTION = "Give --record a folder that does not exist yet, or an empty one";

/**
 * Takes a folder for a recording, which it makes, mode 0700, unless it is there and empty. Of several recorders that come
 * at once one gets it.
 *
 * @throws {CliError} when it cannot be had
 */
export function claimFolder(path: string): ClaimedFolder {
  const failed = `Cannot record in ${path}`;
  const isOurs = !isEmptyFolder(path, failed) && isMade(path, failed);
  const castPath = `${path}/${CAST_FILE}`;
  let cast: Deno.FsFile;
  try {
    cast = Deno.openSync(castPath, { append: true, createNew: true, mode: 0o600 });
  } catch (cause) {
    if (cause instanceof Deno.errors.AlreadyExists) {
      throw new CliError(`${failed}: another run has just begun to record there`, {
        suggestion: SUGGESTION,
        cause,
      });
    }
    if (isOurs) removeIfEmpty(path);
    throw unwritable(failed, cause);
  }
  return {
    path,
    cast,
    giveUp: () => {
      cast.close();
      removeIfEmpty(castPath);
      if (isOurs) removeIfEmpty(path);
    },
  };
}

/** Makes the folder; false where somebody else has made it by now. */
function isMade(path: string, failed: string): boolean {
  const parent = path.replace(/(?<!\/)\/+$/u, "").replace(/[^/]+$/u, "");
  if (!isFolder(parent === "" ? "." : parent)) {
    throw new CliError(`${failed}: the folder above it does not exist`, {
      suggestion: `Make it first: mkdir -p ${parent}`,
    });
  }
  try {
    Deno.mkdirSync(path, { mode: 0o700 });
    return true;
  } catch (cause) {
    if (cause instanceof Deno.errors.AlreadyExists && isFolder(path)) return false;
    throw unwritable(failed, cause);
  }
}

function unwritable(failed: string, cause: unknown): CliError {
  return new CliError(`${failed}: ${(cause as Error).message}`, {
    suggestion: "Give --record a new folder in one that is yours",
    cause,
  });
}

/** What somebody else has put something into stays, and so does what is gone. */
function removeIfEmpty(path: string): void {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    if (!isFile || size === 0) Deno.removeSync(path);
  } catch {
    // A folder that is not empty cannot be removed.
  }
}

/** False when there is no such folder. */
function isEmptyFolder(folder: string, failed: string): boolean {
  let names: readonly Deno.DirEntry[];
  try {
    names = [...Deno.readDirSync(folder)];
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return false;
    const isFile = cause instanceof Deno.errors.NotADirectory;
    const why = isFile ? "it is not a folder" : (cause as Error).message;
    throw new CliError(`${failed}: ${why}`, { suggestion: SUGGESTION, cause });
  }
  if (names.length > 0) {
    throw new CliError(`${failed}: there is something in it`, { suggestion: SUGGESTION });
  }
  return true;
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}
