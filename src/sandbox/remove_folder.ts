/** How often a removal is tried: a tool that was left running may put a file into a folder while it is emptied. */
const TRIES = 3;

/**
 * Removes a folder and everything in it; one that is not there is as good as removed.
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
      problem = error instanceof Error ? error : new Error(String(error));
    }
  }
  return problem;
}
