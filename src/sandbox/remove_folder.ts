/** How often a removal is tried. A tool that still runs may write a file while the folder is emptied. */
const TRIES = 3;

/**
 * Removes a folder and everything in it. A missing folder is no error. Links are removed, not followed. Folders without
 * write permission, such as those of package caches, are made writable first.
 *
 * @param remove removes recursively, as `Deno.removeSync` does
 * @returns the error if it could not be removed
 */
export function removeFolder(
  path: string,
  remove: (path: string) => void = (each) => Deno.removeSync(each, { recursive: true }),
): Error | undefined {
  let problem: Error | undefined;
  for (let tries = 0; tries < TRIES; tries++) {
    try {
      remove(path);
      return undefined;
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return undefined;
      if (error instanceof Deno.errors.PermissionDenied) open(path);
      problem = error instanceof Error ? error : new Error(String(error));
    }
  }
  return problem;
}

/** Makes a folder and all folders in it writable, as far as they belong to this user. */
function open(path: string): void {
  try {
    if (!Deno.lstatSync(path).isDirectory) return;
    Deno.chmodSync(path, 0o700);
    for (const { name, isDirectory } of Deno.readDirSync(path)) {
      if (isDirectory) open(`${path}/${name}`);
    }
  } catch {
    // It belongs to another user, or is gone.
  }
}

/** Removes a folder if it exists and is empty. */
export function removeEmpty(folder: string): void {
  try {
    if (Deno.lstatSync(folder).isDirectory) Deno.removeSync(folder);
  } catch {
    // It does not exist or is not empty.
  }
}
