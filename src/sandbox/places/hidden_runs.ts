import { isBelow } from "../paths.ts";

/**
 * The folders of runs of which commands in Claude Code's Bash sandbox are to see nothing: where they may write nothing
 * they could still read what others' hooks prove themselves by, and write to others' FIFOs, as a mount that is read-only
 * lets everybody (2.1.330).
 *
 * @param runs the folders of runs in all places
 * @param options.folders the working directory and every added one: in the temp folder of another run they must not be
 * hidden with that
 */
export function hiddenRuns(
  runs: readonly string[],
  { folders }: { readonly folders: readonly string[] },
): readonly string[] {
  return runs.filter((each) => !folders.some((path) => isBelow(path, each)));
}

/**
 * Those hidden folders of runs that settings open by their own names, or parts of them: what may be written comes before what
 * is hidden. Of a project that nobody trusts Claude Code takes no such setting (2.1.330).
 *
 * @param options.writable real paths of all folders that the run's tools may write to
 */
export function reopenedRuns(
  hidden: readonly string[],
  { writable }: { readonly writable: readonly string[] },
): readonly string[] {
  return hidden.filter((runs) => writable.some((path) => isBelow(path, runs)));
}
