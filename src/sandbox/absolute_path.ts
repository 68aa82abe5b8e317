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
