/** Whether there is something at a path, or at the end of the links that it leads to. */
export function isThere(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}
