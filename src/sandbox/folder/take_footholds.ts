import { makeFolderIn } from "../places/folder_of_runs.ts";

/**
 * Makes an empty folder in each of these folders of runs. As long as it is there, so is the folder of runs: in the place
 * of one that is missing Claude Code's Bash sandbox puts a file, so that other runs could not make it (2.1.197 and
 * 2.1.330).
 *
 * @param name what to call it: a private folder's name, as they stand beside those
 * @returns their paths
 */
export function takeFootholds(exposed: readonly string[], name: string): readonly string[] {
  return exposed.flatMap((runs) => {
    try {
      return [makeFolderIn(runs, name)];
    } catch {
      // Where this user can make no folder, no run of this user's can.
      return [];
    }
  });
}
