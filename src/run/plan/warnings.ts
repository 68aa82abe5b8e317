import { skippedHooks } from "../../claude/settings/hook_faults.ts";
import {
  isCompleteRule,
  parseRule,
  RULE_LISTS,
  ruleProblem,
  ruleText,
  splitRules,
  wildcardProblem,
} from "../../claude/settings/permission_rules.ts";
import type { SettingsFault } from "../../claude/settings/settings_faults.ts";
import { hasCapability, isNewerThanProfiles } from "../../claude/versions/profiles.ts";
import { toolsOf } from "../../claude/versions/tables.ts";
import { isJsonObject } from "../../json_object.ts";
import {
  type Settings,
  type SettingsDocument,
  soundSettings,
} from "../../sandbox/child/read_settings.ts";
import type { AddedFile, Distrust, ProjectSource, RunFacts } from "./plan_facts.ts";
import { flagValues, type RunOrder } from "./run_order.ts";

/** The facts that may cause warnings. */
export type WarnedFacts = Pick<
  RunFacts,
  "settings" | "documents" | "version" | "distrust" | "userConfig" | "addedFiles" | "sandboxLack"
>;

type WarnedOrder = Pick<RunOrder, "answerAlone" | "disallowedTools" | "forwarded">;

/** Warnings about rules and settings that are not in effect, about files, and about the sandbox. */
export function factWarnings(order: WarnedOrder, facts: WarnedFacts): readonly string[] {
  const { settings, distrust, userConfig: { claudeJson }, addedFiles, sandboxLack } = facts;
  return [
    ...ignoredRules(settings, { distrust, claudeJson }),
    ...settingsWarnings(order, facts),
    ...addedFileWarnings(addedFiles),
    ...sandboxWarnings(sandboxLack),
  ];
}

function addedFileWarnings(files: readonly AddedFile[] = []): readonly string[] {
  return files.map(({ path, parent }) =>
    `${path} is not a directory. Did you mean to add the parent directory ${parent}?`
  );
}

function sandboxWarnings(lack: readonly string[] = []): readonly string[] {
  return lack.length === 0 ? [] : [
    `Commands run without the sandbox that settings ask for, which takes ${lack.join(" and ")}: ` +
    "nothing restricts what they do with files and the network",
  ];
}

/** The settings file of a project, by its source. */
const PROJECT_FILES: Readonly<Record<ProjectSource, string>> = {
  project: ".claude/settings.json",
  local: ".claude/settings.local.json",
};

/** Permission lists that need trust. */
const TRUSTED_LISTS = ["allow", "additionalDirectories"] as const;

/** The warnings of `claude -p` about rules of an untrusted project, one line for each list. */
export function ignoredRules(
  settings: readonly Settings[],
  { distrust, claudeJson }: {
    readonly distrust: Distrust | undefined;
    readonly claudeJson: string;
  },
): readonly string[] {
  if (distrust === undefined) return [];
  const { folder, sources } = distrust;
  return TRUSTED_LISTS.flatMap((list) => {
    const counts = sources.map((source) => ({ source, count: ruleCount(settings, source, list) }))
      .filter(({ count }) => count > 0);
    const total = counts.reduce((sum, { count }) => sum + count, 0);
    if (total === 0) return [];
    const files = counts.map(({ source }) => PROJECT_FILES[source]).join(" and ");
    return [
      `Ignoring ${total} permissions.${list} ${total === 1 ? "entry" : "entries"} from ${files}: ` +
      "this workspace has not been trusted. Run Claude Code interactively here once and accept the trust dialog, " +
      `or set projects[${JSON.stringify(folder)}].hasTrustDialogAccepted: true in ${claudeJson}.`,
    ];
  });
}

/** Whether settings of a source have permissions that need trust. */
export function needsTrust(settings: readonly Settings[], source: ProjectSource): boolean {
  return TRUSTED_LISTS.some((list) => ruleCount(settings, source, list) > 0);
}

/** The number of rules of a source. Claude Code counts repetitions within one file, but not between several files. */
function ruleCount(
  settings: readonly Settings[],
  source: ProjectSource,
  list: typeof TRUSTED_LISTS[number],
): number {
  const lists = settings.filter((each) => each.source === source)
    .map(({ values: { permissions } }) => isJsonObject(permissions) ? permissions[list] : undefined)
    .filter((entries) => Array.isArray(entries));
  const entries = lists.flat().filter((entry) =>
    list !== "allow" || (typeof entry === "string" && ruleProblem(entry, list) === undefined)
  );
  return lists.length > 1 ? new Set(entries).size : entries.length;
}

/**
 * The warnings of `claude -p` about faulty flags, rules and settings. `claude -p` warns about rules and settings only
 * in text output.
 */
export function settingsWarnings(
  { answerAlone = false, disallowedTools, forwarded }: WarnedOrder,
  { documents, version }: {
    readonly documents: readonly SettingsDocument[];
    readonly version?: string | undefined;
  },
): readonly string[] {
  if (version === undefined) return [];
  const ofEffort = unknownEffort(forwarded).map(onOneLine);
  if (!answerAlone) return ofEffort;
  const allowedTools = flagValues(forwarded, "--allowedTools");
  const settings = soundSettings(documents);
  const unknown = unknownTools({ settings, allowedTools, disallowedTools }, version);
  const torn = hasCapability(version, "tornRulesWarnings")
    ? [
      ...tornRules("--allowedTools", allowedTools),
      ...tornRules("--disallowedTools", disallowedTools),
    ]
    : [];
  return [
    ...ofEffort,
    ...[...unknown, ...torn].map(onOneLine),
    ...hasCapability(version, "settingsWarnings") ? unusedSettings(documents, version) : [],
  ];
}

function onOneLine(text: string): string {
  return text.replace(/\s+/gu, " ");
}

/** The values of `--effort`, and two that Claude Code accepts without listing them. */
const LEVELS: readonly string[] = ["low", "medium", "high", "xhigh", "max"];
const UNLISTED_LEVELS: readonly string[] = ["med", "ultracode"];

function unknownEffort(forwarded: readonly string[]): readonly string[] {
  const value = flagValues(forwarded, "--effort").at(-1);
  if (value === undefined) return [];
  if ([...LEVELS, ...UNLISTED_LEVELS].includes(value.trim().toLowerCase())) return [];
  return [
    `Unknown --effort value '${value}' — ignoring it and using the default effort. ` +
    `Valid values: ${LEVELS.join(", ")}.`,
  ];
}

/** The maximum number of shown characters of a rule. */
const LONGEST_RULE = 64;

const TORN_RULE_EFFECTS = {
  allow: "so this list may allow more or less than you meant",
  deny: "so a tool you meant to block may still run",
};

/** The warning about the first rule of a flag that seems to have been split in the wrong place (2.1.330). */
function tornRules(
  flag: "--allowedTools" | "--disallowedTools",
  lists: readonly string[],
): readonly string[] {
  const [first, ...others] = new Set(lists.flatMap(splitRules)).values()
    .filter((rule) => !isCompleteRule(rule));
  if (first === undefined) return [];
  const list = flag === "--allowedTools" ? "allow" : "deny";
  const shown = first.length > LONGEST_RULE ? `${first.slice(0, LONGEST_RULE)}…` : first;
  const more = others.length === 0 ? "" : ` This list has ${others.length} more like it.`;
  return [
    `${flag}: "${shown}" doesn't look like a complete rule, ${
      TORN_RULE_EFFECTS[list]
    }. A rule looks like Bash or Bash(git *). ` +
    'Check for a missing ")", a space before "(", or text after ")". If a ")" belongs inside your rule, the list may ' +
    `have split there and the quoted text is only part of it: move the whole rule to permissions.${list} in settings ` +
    `this session reads.${more}`,
  ];
}

/** Settings, and the values of `--allowedTools` and `--disallowedTools`. */
interface RuleSources {
  readonly settings: readonly Settings[];
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
}

/**
 * The warnings about rules for tools that this version does not have: rules of settings that deny or ask, and rules of the
 * command line.
 */
function unknownTools(
  { settings, allowedTools, disallowedTools }: RuleSources,
  version: string,
): readonly string[] {
  const ignored = [...new Set(allowedTools.flatMap(splitRules))].map(parseRule).flatMap((rule) => {
    const problem = wildcardProblem(rule.tool);
    return problem === undefined
      ? []
      : [`Ignoring --allowedTools rule "${ruleText(rule)}": ${problem}.`];
  });
  if (isNewerThanProfiles(version)) return ignored;
  const known = new Set(toolsOf(version));
  const warnings = (list: "deny" | "ask", rules: readonly string[]) =>
    rules.map(parseRule).filter(({ tool }) => !/[*_]/u.test(tool) && !known.has(tool))
      .map((rule) =>
        `Permission ${list} rule "${ruleText(rule)}" matches no known tool — check for typos.`
      );
  return [
    ...ignored,
    ...warnings("deny", [
      ...validRules(settings, "deny"),
      ...new Set(disallowedTools.flatMap(splitRules)),
    ]),
    ...warnings("ask", validRules(settings, "ask")),
  ];
}

/** The rules of a list in settings, without those that Claude Code skips. */
function validRules(settings: readonly Settings[], list: "deny" | "ask"): readonly string[] {
  return settings.flatMap(({ values: { permissions } }) => {
    const rules = isJsonObject(permissions) ? permissions[list] : undefined;
    return (Array.isArray(rules) ? rules : []).filter((rule) =>
      typeof rule === "string" && ruleProblem(rule, list) === undefined
    );
  });
}

/** The maximum number of shown faults of a document, and of shown characters of each text. */
const MOST_FAULTS = 10;
const LONGEST_TEXT = 500;

const MEND =
  "Fix each problem listed, then start Claude Code again. For settings sent with applyFlagSettings, shown as " +
  "SDK inline settings, send them again instead.";

/** The warning about settings documents that Claude Code rejects, and about entries that it skips; several lines. */
function unusedSettings(
  documents: readonly SettingsDocument[],
  version: string,
): readonly string[] {
  const rejected = documents.flatMap((document) => faultLines(document, document.faults));
  const skipped = documents.filter(({ faults }) => faults.length === 0)
    .flatMap((document) => faultLines(document, skippedEntries(document, version)));
  const parts = [
    ...(rejected.length === 0 ? [] : [
      "These settings did not load, so nothing in them is in effect, including hooks, permission rules and sandbox " +
      "settings, though environment variables they already set can stay:",
      ...rejected,
    ]),
    ...(skipped.length === 0
      ? []
      : ["These settings entries were skipped; the rest of each source is in effect:", ...skipped]),
  ];
  return parts.length === 0 ? [] : [[...parts, MEND].join("\n")];
}

function faultLines(
  { name }: SettingsDocument,
  faults: readonly SettingsFault[],
): readonly string[] {
  const more = faults.length - MOST_FAULTS;
  return [
    ...faults.slice(0, MOST_FAULTS).map(({ path, message }) =>
      `  ${shortenText(name)}${path === "" ? "" : ` (${shortenText(path)})`}: ${
        shortenText(message)
      }`
    ),
    ...(more > 0 ? [`  … and ${more} more in ${shortenText(name)}`] : []),
  ];
}

function shortenText(text: string): string {
  return onOneLine(text.slice(0, LONGEST_TEXT)).trimEnd();
}

function skippedEntries(
  { values: { permissions, hooks }, tooDeep = [] }: SettingsDocument,
  version: string,
): readonly SettingsFault[] {
  return [
    ...tooDeep,
    ...RULE_LISTS.flatMap((list) => {
      const rules = isJsonObject(permissions) ? permissions[list] : undefined;
      const path = `permissions.${list}`;
      return (Array.isArray(rules) ? rules : []).flatMap((rule: unknown) => {
        if (typeof rule !== "string") {
          return [{ path, message: `Non-string value in ${list} array was removed` }];
        }
        const problem = ruleProblem(rule, list);
        return problem === undefined
          ? []
          : [{ path, message: `Invalid permission rule "${rule}" was skipped: ${problem}` }];
      });
    }),
    ...skippedHooks(hooks, version),
  ];
}
