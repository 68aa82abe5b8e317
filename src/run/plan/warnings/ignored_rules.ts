import { ruleProblem } from "./permission_rule.ts";
import type { Settings } from "../../../sandbox/child/read_settings.ts";
import { isJsonObject } from "../../../json_object.ts";

/** Why some of what a project's settings say of permissions does not count. */
export interface Distrust {
  /** The folder that the user would have to trust: the main checkout of a repository, else the working directory. */
  readonly folder: string;
  /** Whose rules do not count meanwhile. */
  readonly sources: readonly ProjectSource[];
}

/** The settings of a project: those that come with it, and those that should not. */
export type ProjectSource = "project" | "local";

const FILES: Readonly<Record<ProjectSource, string>> = {
  project: ".claude/settings.json",
  local: ".claude/settings.local.json",
};

/** What needs trust. */
const KEYS = ["allow", "additionalDirectories"] as const;

/** What `claude -p` says on stderr of rules that do not count, a line for each kind. */
export function ignoredRules(
  settings: readonly Settings[],
  { distrust, claudeJson }: {
    readonly distrust: Distrust | undefined;
    readonly claudeJson: string;
  },
): readonly string[] {
  if (distrust === undefined) return [];
  const { folder, sources } = distrust;
  return KEYS.flatMap((key) => {
    const counts = sources.map((source) => [source, ruleCount(settings, { source, key })] as const)
      .filter(([, count]) => count > 0);
    const count = counts.reduce((sum, [, each]) => sum + each, 0);
    if (count === 0) return [];
    const files = counts.map(([source]) => FILES[source]).join(" and ");
    return [
      `Ignoring ${count} permissions.${key} ${count === 1 ? "entry" : "entries"} from ${files}: ` +
      "this workspace has not been trusted. Run Claude Code interactively here once and accept the trust dialog, " +
      `or set projects[${JSON.stringify(folder)}].hasTrustDialogAccepted: true in ${claudeJson}.`,
    ];
  });
}

/** Whether settings of that source say something of permissions that needs trust. */
export function needsTrust(settings: readonly Settings[], source: ProjectSource): boolean {
  return KEYS.some((key) => ruleCount(settings, { source, key }) > 0);
}

/** Of a list in one file each rule counts; files of one source that are put together have each rule once. */
function ruleCount(
  settings: readonly Settings[],
  { source, key }: { readonly source: ProjectSource; readonly key: typeof KEYS[number] },
): number {
  const lists = settings.filter((each) => each.source === source)
    .map(({ values: { permissions } }) => isJsonObject(permissions) ? permissions[key] : undefined)
    .filter((list) => Array.isArray(list));
  const entries = lists.flat().filter((entry) =>
    key !== "allow" || (typeof entry === "string" && ruleProblem(entry, key) === undefined)
  );
  return lists.length > 1 ? new Set(entries).size : entries.length;
}
