/**
 * The root of the git repository, or of the worktree, that a folder is in: the nearest folder with a `.git` that is a
 * folder or a file.
 */
export function gitRoot(cwd: string): string | undefined {
  for (let dir = cwd; dir !== ""; dir = dir.slice(0, dir.lastIndexOf("/"))) {
    try {
      const { isDirectory, isFile } = Deno.statSync(`${dir}/.git`);
      if (isDirectory || isFile) return dir;
    } catch {
      // Not here; perhaps further up.
    }
  }
  return undefined;
}
