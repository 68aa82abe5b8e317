import { absoluteDir, isBelow, wholePath } from "../../paths.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/**
 * Finds the folders that a run's tools may write to, in the Bash sandbox or outside: the working directory, added
 * directories, and those that settings open. The paths have no links.
 *
 * @param folders the working directory first, then every added directory
 * @param options.settings every settings object that applies to the run
 * @param options.projectRoot the folder of the project's settings. Paths for the Bash sandbox are relative to it, others to
 * the working directory (2.1.330)
 */
export function findWritableFolders(
  folders: readonly string[],
  { settings, projectRoot, home }: {
    readonly settings: readonly JsonObject[];
    readonly projectRoot: string;
    readonly home: string | undefined;
  },
): readonly string[] {
  const [cwd = "/"] = folders;
  const named = (...names: readonly string[]) =>
    settings.flatMap((each) => stringsIn(fieldOf(each, names)));
  const added = named("permissions", "additionalDirectories");
  const opened = named("sandbox", "filesystem", "allowWrite");
  const edited = named("permissions", "allow").flatMap((rule) => EDIT_RULE.exec(rule)?.[1] ?? []);
  return [
    ...new Set([
      ...folders,
      ...[...added, ...opened].map((path) => resolveRulePath(path, { cwd, home })),
      ...opened.map((path) => resolveRulePath(path, { cwd: projectRoot, home })),
      ...edited.map((path) =>
        ONE_SLASH.test(path)
          ? resolveRulePath(`.${path}`, { cwd: projectRoot, home })
          : resolveRulePath(path, { cwd, home })
      ),
    ]),
  ].map(absoluteDir);
}

/** A rule that allows edits. The Bash sandbox may write there too (2.1.330). */
const EDIT_RULE = /^\s*Edit\((.+)\)\s*$/su;
/** A path that begins with one slash, which is relative to the settings. With two slashes it is absolute. */
const ONE_SLASH = /^\/(?!\/)/u;

/** Resolves a path of Claude Code's settings. For a pattern it is the folder before the first wildcard. */
function resolveRulePath(
  named: string,
  { cwd, home = "" }: { readonly cwd: string; readonly home: string | undefined },
): string {
  const pattern = named.trim().replace(/^\/\//u, "/");
  const wild = pattern.search(/[*?[]/u);
  const folder = wild < 0 ? pattern : pattern.slice(0, pattern.lastIndexOf("/", wild) + 1);
  const path = folder === "~" || folder.startsWith("~/") ? `${home}${folder.slice(1)}` : folder;
  return wholePath(path, cwd);
}

function fieldOf(settings: JsonObject, names: readonly string[]): unknown {
  return names.reduce<unknown>(
    (value, name) => isJsonObject(value) ? value[name] : undefined,
    settings,
  );
}

function stringsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

/**
 * Finds the folders of runs that a run's tools could write to. They have to be closed to the tools.
 *
 * @param runs the folders of runs in all places
 * @param options.writable real paths of all folders that the run's tools may write to
 * @param options.inside the run's private folder, its working directory and every added directory. A folder of runs that
 * contains one of them cannot be closed; that happens to a run in the temp folder of another run
 */
export function findExposedRuns(
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

/**
 * Finds the folders of runs that are to be hidden from the Bash sandbox. Without write access a command could still read
 * the secrets of other runs' hooks, and write to their FIFOs, which a read-only mount allows (2.1.330).
 *
 * @param runs the folders of runs in all places
 * @param options.folders the working directory and every added directory. A folder of runs that contains one of them cannot
 * be hidden
 */
export function findHiddenRuns(
  runs: readonly string[],
  { folders }: { readonly folders: readonly string[] },
): readonly string[] {
  return runs.filter((each) => !folders.some((path) => isBelow(path, each)));
}

/**
 * Finds the hidden folders of runs that settings open, or parts of which they open. In Claude Code write access overrides
 * hiding. It ignores such settings of an untrusted project (2.1.330).
 *
 * @param options.writable real paths of all folders that the run's tools may write to
 */
export function findReopenedRuns(
  hidden: readonly string[],
  { writable }: { readonly writable: readonly string[] },
): readonly string[] {
  return hidden.filter((runs) => writable.some((path) => isBelow(path, runs)));
}
