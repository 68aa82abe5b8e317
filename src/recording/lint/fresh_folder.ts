import { CliError } from "../../cli_error.ts";

/** A folder that is new or empty, and what is made in it before it has its place there. */
export interface FreshFolder extends Disposable {
  /** Where that is made. */
  readonly unfinished: string;
  /**
   * Puts it into the folder.
   *
   * @throws {CliError} when it cannot
   */
  readonly finish: () => void;
}

/**
 * Takes a folder, which is made, mode 0700, unless it is there and empty. Without `finish()` it is left as it was.
 *
 * @param flag the flag that names it
 * @throws {CliError} when there is something in it, or it cannot be had
 */
export function freshFolder(folder: string, flag: string): FreshFolder {
  const failed = `Cannot scrub in ${folder}`;
  const attempt = (act: () => void) => {
    try {
      act();
    } catch (cause) {
      const isGone = cause instanceof Deno.errors.NotFound;
      throw new CliError(
        `${failed}: ${isGone ? "the folder above it does not exist" : (cause as Error).message}`,
        { suggestion: `Give ${flag} a new folder in one that is yours`, cause },
      );
    }
  };
  const isThere = isEmpty(folder, { failed, flag });
  if (!isThere) attempt(() => Deno.mkdirSync(folder, { mode: 0o700 }));
  // Nobody takes it for what it is to be, and whoever comes meanwhile does not get it.
  const unfinished = `${folder}/.unfinished`;
  attempt(() => Deno.mkdirSync(unfinished, { mode: 0o700 }));
  let isDone = false;
  return {
    unfinished,
    finish: () => {
      attempt(() => {
        for (const { name } of [...Deno.readDirSync(unfinished)]) {
          Deno.renameSync(`${unfinished}/${name}`, `${folder}/${name}`);
        }
      });
      isDone = true;
    },
    [Symbol.dispose]: () => {
      remove(unfinished, { recursive: true });
      if (!isDone && !isThere) remove(folder, { recursive: false });
    },
  };
}

/** False when there is no such folder. */
function isEmpty(
  folder: string,
  { failed, flag }: { readonly failed: string; readonly flag: string },
): boolean {
  const suggestion = `Give ${flag} a folder that does not exist yet, or an empty one`;
  try {
    if ([...Deno.readDirSync(folder)].length === 0) return true;
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return false;
    const isFile = cause instanceof Deno.errors.NotADirectory;
    const why = isFile ? "it is not a folder" : (cause as Error).message;
    throw new CliError(`${failed}: ${why}`, { suggestion, cause });
  }
  throw new CliError(`${failed}: there is something in it`, { suggestion });
}

function remove(folder: string, options: Deno.RemoveOptions): void {
  try {
    Deno.removeSync(folder, options);
  } catch {
    // Somebody else put something there, or took it away.
  }
}
