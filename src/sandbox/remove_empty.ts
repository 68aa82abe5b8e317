/** Removes a folder if it is there and empty: nothing of anybody's is lost. */
export function removeEmpty(folder: string): void {
  try {
    if (Deno.lstatSync(folder).isDirectory) Deno.removeSync(folder);
  } catch {
    // It was not made, or there is something in it.
  }
}
