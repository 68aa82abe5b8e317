import { type Distrust, needsTrust, type ProjectSource } from "../plan/warnings/ignored_rules.ts";
import { worktreesOf } from "../../sandbox/child/git_repository.ts";
import type { Settings } from "../../sandbox/child/read_settings.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/**
 * Why rules of a project do not count: the user has not trusted its folder, and they are not the user's own. Git is asked
 * only if there are such rules.
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
  },
): Promise<Distrust | undefined> {
  const { cwd, projectRoot, isAlone, env, userDir, claudeJson } = options;
  const found = (["project", "local"] as const).filter((source) => needsTrust(settings, source));
  if (found.length === 0) return undefined;
  const [folder = cwd] = worktreesOf(cwd);
  const projects = isJsonObject(claudeJson?.["projects"]) ? claudeJson["projects"] : {};
  const known = projects[folder];
  if (isJsonObject(known) && known["hasTrustDialogAccepted"] === true) return undefined;
  const { areSharedSettings } = await import("../../sandbox/child/shared_settings.ts");
  const sources: ProjectSource[] = [];
  for (const source of found) {
    const isForeign = source === "project"
      ? userDir !== `${projectRoot}/.claude`
      : await areSharedSettings(projectRoot, { env, userDir, isAlone });
    if (isForeign) sources.push(source);
  }
  return { folder, sources };
}
