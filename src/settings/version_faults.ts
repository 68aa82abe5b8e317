import { isJsonObject, type JsonObject } from "../json_object.ts";
import { skillGuardFaults, typeOf } from "./hook_faults.ts";
import {
  choiceFaults,
  faultsOf,
  listFaults,
  NULLABLE,
  type SettingsFault,
} from "./settings_faults.ts";

/** What keeps a Claude Code from loading settings, where versions differ. */
export interface VersionFaults {
  /** Before 2.1.330, which tells nobody. */
  readonly before: readonly SettingsFault[];
  /** Since 2.1.330. */
  readonly since: readonly SettingsFault[];
  /** Since 2.1.332, which knows a hook more that may forbid something. */
  readonly guarded: readonly SettingsFault[];
}

/** Keys that 2.1.330 has and 2.1.197 has not, by what they hold. */
const BOOLEANS = "allowClaudeInChromeWithManagedMcp allowNestedModelAccessUnderForceLogin " +
  "bashEditDiffEnabled clawdFileProgressEnabled disableReplyCheck emojiCompletionEnabled " +
  "idleCompaction totalTokensReminderAfterUserTurn";
/** The same, for which null is as good as nothing. */
const NULLABLE_BOOLEANS = "autoContinueAtUsageLimit disableCommandPluginSources " +
  "disableDirectMcpSkills disableWindowsBashCommandSplit responseComparisonEnabled";
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  managedSourcesBehavior: ["first-wins", "merge"],
  workflowSizeGuideline: ["unrestricted", "small", "medium", "large"],
};
const NULLABLE_CHOICES: typeof CHOICES = { feedbackDrafts: ["notify", "quiet", "off"] };

/** What of settings one version takes and another does not, of 2.1.197, 2.1.330 and 2.1.332. */
export function versionFaults(settings: unknown): VersionFaults {
  if (!isJsonObject(settings)) return { before: [], since: [], guarded: [] };
  const since = faultsSince(settings);
  return {
    before: faultsBefore(settings),
    since,
    guarded: [...since, ...skillGuardFaults(settings["hooks"])],
  };
}

function faultsBefore(settings: JsonObject): readonly SettingsFault[] {
  const { attribution, subagentStatusLine: line, spinnerTipsOverride: tips } = settings;
  const isOfNeither = attribution !== undefined && typeof attribution !== "boolean";
  return [
    ...NULLABLE.filter((key) => settings[key] === null)
      .flatMap((key) => faultsOf(key, { value: null, expected: "boolean" })),
    ...(isOfNeither ? [] : faultsOf("attribution", { value: attribution, expected: "object" })),
    ...["allowedMcpServers", "deniedMcpServers"].flatMap((key) =>
      faultsOf(key, { value: settings[key], expected: "array" })
    ),
    ...faultsOf("extraKnownMarketplaces", {
      value: settings["extraKnownMarketplaces"],
      expected: "record",
    }),
    ...faultsOf("subagentStatusLine", { value: line, expected: "object" }),
    ...(isJsonObject(line)
      ? [
        ...choiceFaults("subagentStatusLine.type", {
          value: line["type"] ?? null,
          choices: ["command"],
        }),
        ...faultsOf("subagentStatusLine.command", {
          value: line["command"] ?? null,
          expected: "string",
        }),
      ]
      : []),
    ...faultsOf("spinnerTipsOverride", { value: tips, expected: "object" }),
    ...(isJsonObject(tips)
      ? [
        ...faultsOf("spinnerTipsOverride.excludeDefault", {
          value: tips["excludeDefault"],
          expected: "boolean",
        }),
        ...listFaults("spinnerTipsOverride.tips", { list: tips["tips"], expected: "string" }),
      ]
      : []),
  ];
}

function faultsSince(settings: JsonObject): readonly SettingsFault[] {
  const { timeFormat, timeZone, remoteTools } = settings;
  const booleans = (keys: string, isNullable: boolean) =>
    keys.split(" ").filter((key) => !isNullable || settings[key] !== null)
      .flatMap((key) => faultsOf(key, { value: settings[key], expected: "boolean" }));
  const choices = (table: typeof CHOICES, isNullable: boolean) =>
    Object.entries(table).filter(([key]) => !isNullable || settings[key] !== null)
      .flatMap(([key, choices]) => choiceFaults(key, { value: settings[key], choices }));
  return [
    ...booleans(BOOLEANS, false),
    ...booleans(NULLABLE_BOOLEANS, true),
    ...choices(CHOICES, false),
    ...choices(NULLABLE_CHOICES, true),
    ...(timeFormat === undefined || typeOf(timeFormat) === "string"
      ? []
      : [{ path: "timeFormat", message: "Invalid input" }]),
    ...faultsOf("timeZone", { value: timeZone, expected: "string" }),
    ...faultsOf("remoteTools", { value: remoteTools, expected: "object" }),
  ];
}
