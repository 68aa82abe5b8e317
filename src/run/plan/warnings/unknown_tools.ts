import {
  parseRule,
  type PermissionRule,
  ruleProblem,
  rulesOf,
  ruleText,
  wildProblem,
} from "./permission_rule.ts";
import type { Settings } from "../../../sandbox/child/read_settings.ts";
import { isNewerThanProfiles } from "../../../claude/versions/profiles.ts";
import { toolsOf } from "../../../claude/versions/tables.ts";
import { isJsonObject } from "../../../json_object.ts";

/** What there are rules on. */
export interface RuleSources {
  readonly settings: readonly Settings[];
  /** The values of `--allowedTools` and of `--disallowedTools`. */
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
}

/**
 * What `claude -p` says on stderr of rules whose tools it does not have, a line for each: of those
 * of settings that deny or ask, and of those of the command line.
 */
export function unknownTools(
  { settings, allowedTools, disallowedTools }: RuleSources,
  version: string,
): readonly string[] {
  const ignored = new Set(allowedTools.flatMap(rulesOf)).values().map(parseRule).flatMap((rule) => {
    const problem = wildProblem(rule.tool);
    return problem === undefined
      ? []
      : [`Ignoring --allowedTools rule "${ruleText(rule)}": ${problem}.`];
  });
  // Of the tools of a version that is newer than every profile nothing is known.
  if (isNewerThanProfiles(version)) return [...ignored];
  const known = new Set(toolsOf(version));
  const tell = (list: "deny" | "ask", rules: readonly PermissionRule[]) =>
    rules.filter(({ tool }) => !/[*_]/u.test(tool) && !known.has(tool)).map((rule) =>
      `Permission ${list} rule "${ruleText(rule)}" matches no known tool — check for typos.`
    );
  return [
    ...ignored,
    ...tell("deny", [
      ...rulesIn(settings, "deny"),
      ...new Set(disallowedTools.flatMap(rulesOf)).values().map(parseRule),
    ]),
    ...tell("ask", rulesIn(settings, "ask")),
  ];
}

/** The rules of a list in settings, without those that Claude Code leaves out. */
function rulesIn(settings: readonly Settings[], list: "deny" | "ask"): readonly PermissionRule[] {
  return settings.flatMap(({ values: { permissions } }) => {
    const rules = isJsonObject(permissions) ? permissions[list] : undefined;
    return (Array.isArray(rules) ? rules : []).filter((rule) =>
      typeof rule === "string" && ruleProblem(rule, list) === undefined
    ).map(parseRule);
  });
}
