/**
 * Folders that the pure layer leaves out, the slowest first: tests of `simulation` run for a fixed time, and those of the
 * others start programs.
 */
export const SLOW_FOLDERS = ["test/daily", "test/simulation", "test/real", "test/program"];

/** Whether a test file is in the pure layer. */
export function isPure(file: string): boolean {
  return !SLOW_FOLDERS.some((folder) => file.startsWith(`${folder}/`));
}
