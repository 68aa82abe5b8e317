import {
  parseRule,
  type PermissionRule,
  ruleProblem,
  rulesOf,
  ruleText,
  wildProblem,
} from "./permission_rule.ts";
import type { Settings } from "../../../sandbox/child/read_settings.ts";
import { isJsonObject } from "../../../json_object.ts";

/** What there are rules on. */
export interface RuleSources {
  readonly settings: readonly Settings[];
  /** The values of `--allowedTools` and of `--disallowedTools`. */
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
}

/** Names of tools, of those of old and of sets of tools, that 2.1.197 and 2.1.330 know, whether a run has them or not. */
const KNOWN = "Agent AgentOutput AgentOutputTool Artifact AskUserQuestion Bash BashOutput " +
  "BashOutputTool Brief CronCreate CronDelete CronList DesignSync Edit EnterPlanMode " +
  "EnterWorktree ExitPlanMode ExitWorktree Glob Grep KillBash KillShell LSP ListAgents " +
  "ListMcpResources ListMcpResourcesTool ListPeers Monitor NotebookEdit PowerShell Projects " +
  "PushNotification Read ReadMcpResource ReadMcpResourceDir ReadMcpResourceDirTool " +
  "ReadMcpResourceTool RemoteTrigger ReportFindings ScheduleWakeup SendMessage SendUserFile " +
  "SendUserMessage ShareOnboardingGuide ShowOnboardingRolePicker Skill Task TaskCreate TaskGet " +
  "TaskList TaskOutput TaskStop TaskUpdate TodoWrite WaitForMcpServers WebFetch WebSearch " +
  "Workflow Write";

/** What else each of them knows; of the tools of other versions nothing is known. */
const ADDED: Readonly<Record<string, string>> = {
  "2.1.197": "REPL",
  "2.1.330": "AppifactRepl ArtifactCheck ArtifactComments ArtifactData AutofixPr " +
    "EndConversation FetchInboxMessage Frame FrameRead GetGoal GetTask ListConnectors " +
    "ListPlugins ListSkills McpTaskResumePolling OfferChromeSetup PauseGoal Poll ProposeGoal " +
    "PublishPlugin ReadNotifications ReadWidgetContext SearchMcpRegistry SearchPlugins " +
    "SearchSkills SendFeedback SendFile SendToProject SendToProjectContext SetGoal " +
    "SuggestBackgroundPR SuggestConnectors SuggestPluginInstall SuggestSkills TeamCreate " +
    "TeamDelete ToolSearch WrapUp Yield",
};

/**
 * What `claude -p` says on stderr of rules whose tools it does not have, a line for each (2.1.197 and 2.1.330): of those
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
  const added = ADDED[version];
  if (added === undefined) return [...ignored];
  const known = new Set(`${KNOWN} ${added}`.split(" "));
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
