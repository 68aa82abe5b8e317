import { isBelow } from "./is_below.ts";

/**
 * The folders of runs that a run's tools may write to, and which are therefore to be closed to them.
 *
 * @param runs the folders of runs in all places
 * @param options.writable real paths of all folders that the run's tools may write to
 * @param options.inside what the run works in: its private folder, its working directory and every added one. In the
 * temp folder of another run, it must not be closed with that
 */
export function exposedRuns(
  runs: readonly string[],
  { writable, inside }: {
    readonly writable: readonly string[];
    readonly inside: readonly string[];
  },
): readonly string[] {
  return runs.filter((folder) =>
    writable.some((each) => isBelow(folder, each)) && !inside.some((path) => isBelow(path, folder))
  );
}
