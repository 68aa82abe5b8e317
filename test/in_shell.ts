/** Runs a command by a line of a shell, in which it is `"$@"`. */
export function inShell(line: string): (command: readonly string[]) => readonly string[] {
  return (command) => ["/bin/sh", "-c", line, "sh", ...command];
}
