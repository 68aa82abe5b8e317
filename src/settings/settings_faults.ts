import { isJsonObject, type JsonObject } from "../json_object.ts";
import { guardFaults, typeOf } from "./hook_faults.ts";

/** Something in settings that Claude Code does not take. */
export interface SettingsFault {
  /** Where it stands: keys with dots between them; empty for all of the settings. */
  readonly path: string;
  /** What Claude Code says of it. */
  readonly message: string;
}

/** What a value has to be, in Claude Code's word for it. */
export type Expected = "record" | "object" | "array" | "string" | "boolean" | "number";

/** What keys hold on which 2.1.197 and 2.1.330 agree; what has its own rules, as `hooks`, is not among them. */
const TYPES: Readonly<Record<Exclude<Expected, "array">, string>> = {
  record: "env modelOverrides skillOverrides enabledPlugins pluginConfigs",
  object:
    "autoMode breakReminder fileSuggestion quietHours remote sandbox spinnerVerbs statusLine voice " +
    "worktree",
  string: "$schema advisorModel agent apiKeyHelper autoMemoryDirectory awsAuthRefresh " +
    "awsCredentialExport claudeMd gcpAuthRefresh language minimumVersion model " +
    "otelHeadersHelper outputStyle plansDirectory pluginTrustMessage prUrlTemplate " +
    "proxyAuthHelper requiredMaximumVersion requiredMinimumVersion",
  boolean: "agentPushNotifEnabled allowAllClaudeAiMcps allowManagedHooksOnly " +
    "allowManagedMcpServersOnly allowManagedPermissionRulesOnly alwaysThinkingEnabled " +
    "autoCompactEnabled autoDreamEnabled autoMemoryEnabled autoScrollEnabled " +
    "autoUploadSessions awaySummaryEnabled channelsEnabled disableAgentView disableAllHooks " +
    "disableArtifact disableBundledSkills disableClaudeAiConnectors disableRemoteControl " +
    "disableSideloadFlags disableSkillShellExecution disableWorkflows doneMeansMerged " +
    "enableAllProjectMcpServers enableArtifact enableWorkflows enforceAvailableModels fastMode " +
    "fastModePerSessionOptIn fileCheckpointingEnabled forceRemoteSettingsRefresh " +
    "includeCoAuthoredBy includeGitInstructions inputNeededNotifEnabled isolatePeerMachines " +
    "precomputeCompactionEnabled prefersReducedMotion promptSuggestionEnabled " +
    "remoteControlAtStartup respectGitignore respondToBashCommands " +
    "showClearContextOnPlanAccept showMessageTimestamps showThinkingSummaries " +
    "showTurnDuration skipDangerousModePermissionPrompt skipWebFetchPreflight " +
    "skipWorkflowUsageWarning spinnerTipsEnabled switchModelsOnFlag " +
    "syntaxHighlightingDisabled terminalProgressBarEnabled terminalTitleFromRename " +
    "todoFeatureEnabled verbose wheelScrollAccelerationEnabled workflowKeywordTriggerEnabled " +
    "wslInheritsWindowsSettings",
  number: "cleanupPeriodDays feedbackSurveyRate skillListingBudgetFraction " +
    "skillListingMaxDescChars totalTokensReminderBudget",
};

/** Those for which null is as good as nothing, but for 2.1.330 alone. */
export const NULLABLE: readonly string[] = ("allowManagedHooksOnly allowManagedMcpServersOnly " +
  "allowManagedPermissionRulesOnly autoUploadSessions channelsEnabled disableAgentView " +
  "disableArtifact disableBundledSkills disableClaudeAiConnectors disableRemoteControl " +
  "disableSideloadFlags disableSkillShellExecution disableWorkflows enableAllProjectMcpServers " +
  "enableArtifact enableWorkflows enforceAvailableModels fastModePerSessionOptIn " +
  "isolatePeerMachines remoteControlAtStartup skipDangerousModePermissionPrompt " +
  "skipWebFetchPreflight skipWorkflowUsageWarning").split(" ");

/** Lists, by what is in them. */
const LISTS: Readonly<Partial<Record<Expected, string>>> = {
  string: "allowedHttpHookUrls availableModels claudeMdExcludes companyAnnouncements " +
    "enabledMcpjsonServers disabledMcpjsonServers fallbackModel httpHookAllowedEnvVars pluginSuggestionMarketplaces",
  object: "allowedChannelPlugins blockedMarketplaces sshConfigs strictKnownMarketplaces",
};

/** The same of what stands deeper, by paths; none of it is needed. */
const DEEP: Readonly<Partial<Record<Expected, string>>> = {
  object: "sandbox.network sandbox.filesystem",
  string: "attribution.commit attribution.pr",
  boolean:
    "attribution.sessionUrl sandbox.enabled sandbox.autoAllowBashIfSandboxed sandbox.allowUnsandboxedCommands " +
    "sandbox.enableWeakerNestedSandbox sandbox.network.allowLocalBinding " +
    "sandbox.network.allowAllUnixSockets voice.enabled",
  number: "sandbox.network.httpProxyPort sandbox.network.socksProxyPort statusLine.padding",
};
const DEEP_LISTS: Readonly<Partial<Record<Expected, string>>> = {
  string:
    "autoMode.allow autoMode.soft_deny autoMode.environment sandbox.excludedCommands sandbox.network.allowUnixSockets " +
    "sandbox.network.allowedDomains sandbox.network.deniedDomains " +
    "sandbox.filesystem.allowWrite sandbox.filesystem.denyWrite sandbox.filesystem.denyRead " +
    "worktree.symlinkDirectories worktree.sparsePaths spinnerVerbs.verbs",
};

/** Keys that hold one of some words. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  defaultShell: ["bash", "powershell"],
  parentSettingsBehavior: ["first-wins", "merge"],
  autoUpdatesChannel: ["latest", "stable", "rc"],
  tui: ["default", "fullscreen"],
  totalTokensReminder: ["off", "infinite", "fixed", "countdown", "padded-countdown"],
  daemonColdStart: ["transient", "ask"],
};

/** Numbers that count something, of which there is one at least. */
const COUNTS = ["cleanupPeriodDays", "skillListingMaxDescChars", "totalTokensReminderBudget"];

/** Values of `permissions.defaultMode`; "manual", which 2.1.330 alone knows, is another name for "default". */
const MODES = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];

const BY_KEY = (table: Readonly<Partial<Record<Expected, string>>>) =>
  Object.entries(table).flatMap(([type, keys]) =>
    keys.split(" ").map((key) => [key, type as Expected] as const)
  );
const TYPE_OF = BY_KEY(TYPES);
const ITEM_OF = BY_KEY(LISTS);
const DEEP_TYPE_OF = BY_KEY(DEEP);
const DEEP_ITEM_OF = BY_KEY(DEEP_LISTS);

/**
 * What keeps Claude Code from loading settings: with one such fault it drops all that stands beside it too (2.1.197 and
 * 2.1.330). Not all is known here of what stands deeper; faults come in an order of their own.
 *
 * @param settings what a file or a flag holds, as JSON
 */
export function settingsFaults(settings: unknown): readonly SettingsFault[] {
  if (settings === null) return [{ path: "", message: MALFORMED }];
  if (!isJsonObject(settings)) return wrongType("", { value: settings, expected: "object" });
  return [
    ...TYPE_OF.filter(([key]) => settings[key] !== null || !NULLABLE.includes(key))
      .flatMap(([key, expected]) => faultsOf(key, { value: settings[key], expected })),
    ...ITEM_OF.flatMap(([key, expected]) => listFaults(key, { list: settings[key], expected })),
    ...permissionFaults(settings),
    ...deepFaults(settings),
    ...commandFaults(settings),
    ...valueFaults(settings),
    ...guardFaults(settings["hooks"]),
  ];
}

/** What Claude Code says of settings that are no JSON. */
export const MALFORMED = "Invalid or malformed JSON";

function permissionFaults({ permissions }: JsonObject): readonly SettingsFault[] {
  if (permissions === undefined) return [];
  if (!isJsonObject(permissions)) {
    return wrongType("permissions", { value: permissions, expected: "object" });
  }
  const { defaultMode: mode, additionalDirectories } = permissions;
  return [
    ...["allow", "deny", "ask"].flatMap((name) =>
      faultsOf(`permissions.${name}`, { value: permissions[name], expected: "array" })
    ),
    ...choiceFaults("permissions.defaultMode", {
      value: mode === "manual" ? "default" : mode,
      choices: MODES,
    }),
    ...["disableBypassPermissionsMode", "disableAutoMode"].flatMap((name) =>
      choiceFaults(`permissions.${name}`, { value: permissions[name], choices: ["disable"] })
    ),
    ...listFaults("permissions.additionalDirectories", {
      list: additionalDirectories,
      expected: "string",
    }),
  ];
}

function deepFaults(settings: JsonObject): readonly SettingsFault[] {
  const at = (path: string): unknown =>
    path.split(".").reduce<unknown>(
      (value, key) => isJsonObject(value) ? value[key] : undefined,
      settings,
    );
  return [
    ...DEEP_TYPE_OF.flatMap(([path, expected]) => faultsOf(path, { value: at(path), expected })),
    ...DEEP_ITEM_OF.flatMap(([path, expected]) => {
      const list = at(path);
      return list === undefined ? [] : listFaults(path, { list, expected });
    }),
  ];
}

/** What is wrong with settings that are a command, or verbs: some of what they hold has to be there. */
function commandFaults(settings: JsonObject): readonly SettingsFault[] {
  const commands = ["statusLine", "fileSuggestion"].flatMap((key) => {
    const held = settings[key];
    if (!isJsonObject(held)) return [];
    const { type, command } = held;
    return [
      ...(type === "command" ? [] : choiceFaults(`${key}.type`, {
        value: type ?? null,
        choices: ["command"],
      })),
      ...(typeof command === "string"
        ? []
        : wrongType(`${key}.command`, { value: command, expected: "string" })),
    ];
  });
  const { spinnerVerbs } = settings;
  if (!isJsonObject(spinnerVerbs)) return commands;
  const { mode = null, verbs } = spinnerVerbs;
  return [
    ...commands,
    ...choiceFaults("spinnerVerbs.mode", { value: mode, choices: ["append", "replace"] }),
    ...(verbs === undefined
      ? wrongType("spinnerVerbs.verbs", { value: verbs, expected: "array" })
      : []),
  ];
}

/** What `attribution` holds, in the words of 2.1.330. */
const ATTRIBUTION = 'false, true, or an object such as { "commit": "", "pr": "" }';

/** What a skill may be set to. */
const SKILL_STATES = ["on", "name-only", "user-invocable-only", "off"];

/** What is wrong with what is one of some values, or is set by names. */
function valueFaults(settings: JsonObject): readonly SettingsFault[] {
  const { attribution, enabledPlugins, forceLoginOrgUUID, modelOverrides, skillOverrides } =
    settings;
  const entries = (of: unknown) => isJsonObject(of) ? Object.entries(of) : [];
  const isPluginState = (value: unknown) =>
    typeof value === "boolean" ||
    (Array.isArray(value) && value.every((each) => typeof each === "string"));
  const isText = (value: unknown) => typeof value === "string";
  const isAttribution = attribution === undefined || typeof attribution === "boolean" ||
    isJsonObject(attribution);
  const isOrganization = forceLoginOrgUUID === undefined || isText(forceLoginOrgUUID) ||
    (Array.isArray(forceLoginOrgUUID) && forceLoginOrgUUID.every(isText));
  return [
    ...Object.entries(CHOICES).flatMap(([key, choices]) =>
      choiceFaults(key, { value: settings[key], choices })
    ),
    ...(isAttribution ? [] : [{
      path: "attribution",
      message: `Expected ${ATTRIBUTION}, but received ${typeOf(attribution)}`,
    }]),
    ...(isOrganization ? [] : [{ path: "forceLoginOrgUUID", message: "Invalid input" }]),
    ...entries(modelOverrides).flatMap(([name, value]) =>
      faultsOf(`modelOverrides.${name}`, { value, expected: "string" })
    ),
    ...entries(skillOverrides).flatMap(([name, value]) =>
      choiceFaults(`skillOverrides.${name}`, { value, choices: SKILL_STATES })
    ),
    ...entries(enabledPlugins).flatMap(([name, value]) =>
      isPluginState(value) ? [] : [{ path: `enabledPlugins.${name}`, message: "Invalid input" }]
    ),
  ];
}

/** What is wrong with a value that may be absent. */
export function faultsOf(
  path: string,
  { value, expected }: { readonly value: unknown; readonly expected: Expected },
): readonly SettingsFault[] {
  if (value === undefined) return [];
  const isOfType = expected === "record" ? isJsonObject(value) : typeOf(value) === expected;
  if (!isOfType) return wrongType(path, { value, expected });
  if (typeof value !== "number" || !COUNTS.includes(path)) return [];
  if (!Number.isInteger(value)) return [{ path, message: "Expected int, but received number" }];
  return value > 0 ? [] : [{ path, message: "Number must be greater than or equal to 0" }];
}

/** The same of a list, by what is in it. */
export function listFaults(
  path: string,
  { list, expected }: { readonly list: unknown; readonly expected: Expected },
): readonly SettingsFault[] {
  return Array.isArray(list)
    ? list.flatMap((value, place) => faultsOf(`${path}.${place}`, { value, expected }))
    : faultsOf(path, { value: list, expected: "array" });
}

/** The same of a value that is one of some words. */
export function choiceFaults(
  path: string,
  { value, choices }: { readonly value: unknown; readonly choices: readonly string[] },
): readonly SettingsFault[] {
  if (value === undefined || choices.some((choice) => choice === value)) return [];
  const all = choices.map((choice) => `"${choice}"`).join(", ");
  return [{ path, message: `Invalid value. Expected one of: ${all}` }];
}

function wrongType(
  path: string,
  { value, expected }: { readonly value: unknown; readonly expected: Expected },
): readonly SettingsFault[] {
  return [{ path, message: `Expected ${expected}, but received ${typeOf(value)}` }];
}
