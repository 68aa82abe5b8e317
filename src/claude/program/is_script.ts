/** Whether a program is a script, which may start another Claude Code tomorrow and stay as it is. */
export function isScript(path: string): boolean {
  try {
    using file = Deno.openSync(path);
    const begin = new Uint8Array(2);
    return file.readSync(begin) === 2 && new TextDecoder().decode(begin) === "#!";
  } catch {
    return false;
  }
}
