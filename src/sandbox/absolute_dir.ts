/** A folder's one name, from wherever it is looked at: without links, or at least absolute while it is not there. */
export function absoluteDir(dir: string): string {
  try {
    return Deno.realPathSync(dir);
  } catch {
    return dir.startsWith("/") ? dir : `${Deno.cwd()}/${dir}`;
  }
}
