/** The folder Claude Code files a working directory's memory under: the root of its git repository, else itself. */
export function projectRoot(cwd: string): string {
  for (let dir = cwd; dir !== ""; dir = dir.slice(0, dir.lastIndexOf("/"))) {
    try {
      Deno.lstatSync(`${dir}/.git`);
      return dir;
    } catch {
      // Not here; perhaps further up.
    }
  }
  return cwd;
}
