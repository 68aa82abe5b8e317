/** Joins a relative path to the current folder. Links and dots stay. */
export function absolutePath(path: string, cwd: string): string {
  return path.startsWith("/") ? path : `${cwd}/${path}`;
}

/** Makes a path absolute and resolves its dots, but not its links. */
export function wholePath(path: string, cwd: string): string {
  const parts: string[] = [];
  for (const part of absolutePath(path, cwd).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

/** Resolves the links of a path; a path that does not exist stays as it is. */
export function realPath(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch {
    return path;
  }
}

/** Resolves the links of a folder's path; the path of a folder that does not exist becomes absolute. */
export function absoluteDir(dir: string): string {
  const real = realPath(dir);
  // Deno.cwd() throws if the current folder was removed, so it is only called for a relative path.
  return real.startsWith("/") ? real : `${Deno.cwd()}/${real}`;
}

/** Returns the folder that contains a path; empty for the root. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** Returns a folder and all folders above it; the last one is the root, as an empty string. */
export function upFrom(folder: string): readonly string[] {
  const folders: string[] = [];
  for (let dir = folder; dir !== ""; dir = parentOf(dir)) folders.push(dir);
  return [...folders, ""];
}

/** Returns the last part of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Whether a path is a folder or lies in it; both absolute and without links. */
export function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}
