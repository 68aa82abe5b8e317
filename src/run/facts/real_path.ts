/** A path without symbolic links; the same one where there is nothing, of which Claude Code itself says what is wrong. */
export function realPath(path: string): string {
  try {
    return Deno.realPathSync(path);
  } catch {
    return path;
  }
}
