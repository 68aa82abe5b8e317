/** The names in a folder; none where it cannot be read. */
export function namesIn(dir: string): readonly string[] {
  try {
    return [...Deno.readDirSync(dir)].map(({ name }) => name);
  } catch {
    return [];
  }
}
