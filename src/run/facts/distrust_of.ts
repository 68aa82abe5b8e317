import {
  type Distrust,
  needsTrust,
  type ProjectSource,
  tellsOfIgnoredRules,
} from "../plan/warnings/ignored_rules.ts";
import { worktreesOf } from "../../sandbox/child/git_repository.ts";
import type { Settings } from "../../sandbox/child/read_settings.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { isVersionAtLeast } from "../../claude/versions/compare_versions.ts";

/**
 * Why rules of a project do not count: the user has not trusted its folder, and they are not the user's own. Only where
 * there are such rules the version is asked for, and git.
 *
 * @param options.projectRoot the folder whose settings are the project's
 * @param options.isAlone whether there are none of a main checkout beside them
 * @param options.claudeJson the user's own `.claude.json`
 */
export async function distrustOf(
  settings: readonly Settings[],
  options: {
    readonly cwd: string;
    readonly projectRoot: string;
    readonly isAlone: boolean;
    readonly env: Environment;
    readonly userDir: string;
    readonly claudeJson: JsonObject | undefined;
    readonly version: () => Promise<string | undefined>;
  },
): Promise<Distrust | undefined> {
  const { cwd, projectRoot, isAlone, env, userDir, claudeJson } = options;
  const found = (["project", "local"] as const).filter((source) => needsTrust(settings, source));
  if (found.length === 0) return undefined;
  const [folder = cwd] = worktreesOf(cwd);
  const projects = isJsonObject(claudeJson?.["projects"]) ? claudeJson["projects"] : {};
  const known = projects[folder];
  if (isJsonObject(known) && known["hasTrustDialogAccepted"] === true) return undefined;
  const version = await options.version();
  if (!tellsOfIgnoredRules(version)) return undefined;
  const { areSharedSettings } = await import("../../sandbox/child/shared_settings.ts");
  const isOlder = !isVersionAtLeast(version ?? "", "2.1.330");
  const sources: ProjectSource[] = [];
  for (const source of found) {
    const isForeign = source === "project"
      ? userDir !== `${projectRoot}/.claude`
      : await areSharedSettings(projectRoot, { env, userDir, isOlder, isAlone: isAlone });
    if (isForeign) sources.push(source);
  }
  return { folder, sources };
}
