import { type Environment, pathVariable } from "../environment.ts";
import { absoluteDir, isBelow } from "../paths.ts";
import { folderOfRuns } from "./folder_of_runs.ts";

/** Where temporary files may go on every Linux. */
const COMMON = ["/tmp", "/var/tmp"];

/**
 * The places where runs may have their private folders, `TMPDIR` first; without links, each once. The second is the
 * user's own, if there is one: what `XDG_RUNTIME_DIR` names is nobody's working directory.
 */
export function places(env: Environment): readonly [string, ...string[]] {
  const runtimeDir = env["XDG_RUNTIME_DIR"] ?? "";
  const first = absoluteDir(tempDir(env));
  const others = [...(runtimeDir.startsWith("/") ? [runtimeDir] : []), ...COMMON].map(absoluteDir);
  return [first, ...new Set(others.filter((place) => place !== first))];
}

/**
 * The folder in which runs have their private folders: `TMPDIR`, as for Claude Code itself.
 *
 * @throws {CliError} when it is not UTF-8
 */
function tempDir(env: Environment): string {
  return pathVariable(env, "TMPDIR") || "/tmp";
}

/**
 * The places to be tried for a run, in this order: those that its tools cannot write to, the first of all where they
 * may write everywhere. Permission to write would be permission to execute there, whatever rules say: they follow a
 * path, which a folder above it can take elsewhere.
 *
 * @param all the places there are, the preferred one first
 * @param options.folders the working directory and every added directory
 * @param options.writable these and what settings add: they may name every place, so that the run is where it is easy to
 * reach, if they were all that counts
 */
export function placesFor(
  all: readonly [string, ...string[]],
  { folders, writable }: {
    readonly folders: readonly string[];
    readonly writable: readonly string[];
  },
): readonly [string, ...string[]] {
  const [first] = all;
  const closedTo = (open: readonly string[]) => all.filter((place) => !isOpen(place, open));
  const ordered = new Set([...closedTo(writable), ...closedTo(folders), first]);
  const [best = first, ...others] = ordered;
  return [best, ...others];
}

/** Whether tools that may write to some folders may write to what runs have in a place. */
function isOpen(place: string, folders: readonly string[]): boolean {
  return folders.some((folder) => isBelow(folderOfRuns(place), folder));
}
