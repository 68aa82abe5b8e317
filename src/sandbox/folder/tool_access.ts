import { absoluteDir, isBelow, wholePath } from "../../paths.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/**
 * The folders that a run's tools may write to, be it only from Claude Code's Bash sandbox: the working directory, what
 * was added to it, and what settings add. Without links.
 *
 * @param folders the working directory, first, and every added directory
 * @param options.settings every settings object that applies to the run
 * @param options.projectRoot the folder whose settings are the project's: what they open to the Bash sandbox is named from
 * there, all else from the working directory (2.1.330)
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

/** A rule that allows files to be edited: what it names is open to the Bash sandbox, too (2.1.330). */
const EDIT_RULE = /^\s*Edit\((.+)\)\s*$/su;
/** Such a path with one slash ahead begins where the settings are; one with two is absolute. */
const ONE_SLASH = /^\/(?!\/)/u;

/** A path as Claude Code's settings may name it; of a pattern the folder that it begins with. */
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
 * The folders of runs that a run's tools may write to, and which are therefore to be closed to them.
 *
 * @param runs the folders of runs in all places
 * @param options.writable real paths of all folders that the run's tools may write to
 * @param options.inside what the run works in: its private folder, its working directory and every added one. In the
 * temp folder of another run, it must not be closed with that
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
 * The folders of runs of which commands in Claude Code's Bash sandbox are to see nothing: where they may write nothing
 * they could still read what others' hooks prove themselves by, and write to others' FIFOs, as a mount that is read-only
 * lets everybody (2.1.330).
 *
 * @param runs the folders of runs in all places
 * @param options.folders the working directory and every added one: in the temp folder of another run they must not be
 * hidden with that
 */
export function findHiddenRuns(
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
export function findReopenedRuns(
  hidden: readonly string[],
  { writable }: { readonly writable: readonly string[] },
): readonly string[] {
  return hidden.filter((runs) => writable.some((path) => isBelow(path, runs)));
}
