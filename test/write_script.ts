/**
 * Writes a program by a process of its own: what this one has open to write, a child of another test may have open too,
 * and then it cannot be started.
 */
export async function writeScript(path: string, text: string): Promise<void> {
  const { success } = await new Deno.Command("sh", {
    args: ["-c", 'printf %s "$1" > "$2" && chmod 755 "$2"', "sh", text, path],
  }).output();
  if (!success) throw new Error(`Cannot write ${path}`);
}
