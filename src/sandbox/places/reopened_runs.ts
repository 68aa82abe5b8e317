import { isBelow } from "../paths.ts";

/**
 * Those hidden folders of runs that settings open by their own names, or parts of them: what may be written comes before what
 * is hidden (2.1.197; of a project that nobody trusts 2.1.330 takes no such setting).
 *
 * @param options.writable real paths of all folders that the run's tools may write to
 */
export function reopenedRuns(
  hidden: readonly string[],
  { writable }: { readonly writable: readonly string[] },
): readonly string[] {
  return hidden.filter((runs) => writable.some((path) => isBelow(path, runs)));
}
