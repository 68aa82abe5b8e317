import { CliError } from "../../cli_error.ts";

/** A folder that is free for one cassette. */
export interface ClaimedFolder {
  /**
   * Makes the folder unless it exists, mode 0700.
   *
   * @throws {CliError} when it cannot be made
   */
  readonly make: () => void;
  /** Removes the folder if it was made for the cassette and holds nothing. */
  readonly giveUp: () => void;
}

/**
 * Looks whether a folder can take a recording: it may exist if it is empty.
 *
 * @throws {CliError} when it cannot
 */
export function claimFolder(folder: string): ClaimedFolder {
  const failed = `Cannot record in ${folder}`;
  let isOurs = false;
  const exists = isEmptyFolder(folder, failed);
  const parent = folder.replace(/(?<!\/)\/+$/u, "").replace(/[^/]+$/u, "");
  if (!exists && !isFolder(parent === "" ? "." : parent)) {
    throw new CliError(`${failed}: the folder above it does not exist`, {
      suggestion: `Make it first: mkdir -p ${parent}`,
    });
  }
  return {
    make: () => {
      if (exists) return;
      try {
        Deno.mkdirSync(folder, { mode: 0o700 });
        isOurs = true;
      } catch (cause) {
        throw new CliError(`${failed}: ${(cause as Error).message}`, {
          suggestion: "Give --record a new folder in one that is yours",
          cause,
        });
      }
    },
    giveUp: () => {
      if (!isOurs) return;
      try {
        Deno.removeSync(folder);
      } catch {
        // Somebody else put something there, or took it away.
      }
    },
  };
}

/** False when there is no such folder. */
function isEmptyFolder(folder: string, failed: string): boolean {
  const suggestion = "Give --record a folder that does not exist yet, or an empty one";
  let names: readonly Deno.DirEntry[];
  try {
    names = [...Deno.readDirSync(folder)];
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return false;
    const isFile = cause instanceof Deno.errors.NotADirectory;
    const why = isFile ? "it is not a folder" : (cause as Error).message;
    throw new CliError(`${failed}: ${why}`, { suggestion, cause });
  }
  if (names.length > 0) {
    throw new CliError(`${failed}: there is something in it`, { suggestion });
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
