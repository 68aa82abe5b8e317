/** How often a removal is tried: a tool that was left running may put a file into a folder while it is emptied. */
const TRIES = 3;

/**
 * Removes a folder and everything in it; one that is not there is as good as removed. Links in it are removed and not
 * followed, and folders that a tool has closed, as caches of packages are, are opened first.
 *
 * @param remove removes recursively, as `Deno.removeSync` does
 * @returns why it could not be removed, if it could not
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

/** Lets the owner of a folder, and of all folders in it, remove what is there, as far as they are this user's. */
function open(path: string): void {
  try {
    if (!Deno.lstatSync(path).isDirectory) return;
    Deno.chmodSync(path, 0o700);
    for (const { name, isDirectory } of Deno.readDirSync(path)) {
      if (isDirectory) open(`${path}/${name}`);
    }
  } catch {
    // It is somebody else's, or gone.
  }
}

/** Removes a folder if it is there and empty: nothing of anybody's is lost. */
export function removeEmpty(folder: string): void {
  try {
    if (Deno.lstatSync(folder).isDirectory) Deno.removeSync(folder);
  } catch {
    // It was not made, or there is something in it.
  }
}
