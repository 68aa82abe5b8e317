/** Folders whose tests start programs, the slowest first. The tests of all other folders are pure. */
export const PROGRAMS = ["test/daily", "test/real", "test/program"];

/** Whether a test file is in the pure layer. */
export function isPure(file: string): boolean {
  return !PROGRAMS.some((folder) => file.startsWith(`${folder}/`));
}
