/** What is told of a sandbox that settings ask for and that is not to be had, as `claude -p` does in its words. */
export function sandboxWarnings(lack: readonly string[] = []): readonly string[] {
  return lack.length === 0 ? [] : [
    `Commands run without the sandbox that settings ask for, which takes ${lack.join(" and ")}: ` +
    "nothing restricts what they do with files and the network",
  ];
}
