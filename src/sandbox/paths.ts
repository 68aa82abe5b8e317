/** A path as it is from the root, links and all. */
export function absolutePath(path: string, cwd: string): string {
  return path.startsWith("/") ? path : `${cwd}/${path}`;
}

/** A folder's one name, from wherever it is looked at: without links, or at least absolute while it is not there. */
export function absoluteDir(dir: string): string {
  try {
    return Deno.realPathSync(dir);
  } catch {
    return dir.startsWith("/") ? dir : `${Deno.cwd()}/${dir}`;
  }
}

/** The folder that a path's last part is in. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** A folder and those above it, the root, whose name is empty, included. */
export function upFrom(folder: string): readonly string[] {
  const folders: string[] = [];
  for (let dir = folder; dir !== ""; dir = parentOf(dir)) folders.push(dir);
  return [...folders, ""];
}

/** The last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Whether a path is a folder or lies in it; both absolute and without links. */
export function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** A path without symbolic links; the same one where there is nothing, of which Claude Code itself says what is wrong. */
export function realPath(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch {
    return path;
  }
}
