const OTHERS_WRITE = 0o002;
const OTHERS_ENTER = 0o001;
const STICKY = 0o1000;

/**
 * The folder in a path that lets every user rename what is in it, and so put something else in its place: writable by
 * all, without the sticky bit, and not behind a folder that others cannot enter.
 *
 * Whoever owns a folder of the path, or belongs to a group that may write there, is trusted, as `TMPDIR` names it.
 *
 * @param path absolute and without links
 */
export function openFolder(path: string): string | undefined {
  const names = path.split("/").filter((name) => name !== "");
  const folders = names.map((_, index) => `/${names.slice(0, index + 1).join("/")}`);
  for (const folder of ["/", ...folders]) {
    const { isDirectory, mode: found } = Deno.statSync(folder);
    const mode = found ?? 0;
    if (!isDirectory) return undefined;
    if ((mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0) return folder;
    if ((mode & OTHERS_ENTER) === 0) return undefined;
  }
  return undefined;
}
