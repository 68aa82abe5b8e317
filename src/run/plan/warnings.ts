import type { AddedFile, Distrust, ProjectSource, RunFacts } from "./plan_facts.ts";
import type { RunOrder } from "./run_order.ts";
import {
  type Settings,
  type SettingsDocument,
  soundSettings,
} from "../../sandbox/child/read_settings.ts";
import { hasCapability, isNewerThanProfiles } from "../../claude/versions/profiles.ts";
import {
  isWhole,
  parseRule,
  type PermissionRule,
  RULE_LISTS,
  ruleProblem,
  rulesOf,
  ruleText,
  wildProblem,
} from "../../claude/settings/permission_rules.ts";
import { toolsOf } from "../../claude/versions/tables.ts";
import { isJsonObject } from "../../json_object.ts";
import { skippedHooks } from "../../claude/settings/hook_faults.ts";
import type { SettingsFault } from "../../claude/settings/settings_faults.ts";

/** What decides what is told of what was found. */
export type ToldFacts = Pick<
  RunFacts,
  "settings" | "documents" | "version" | "distrust" | "userConfig" | "addedFiles" | "sandboxLack"
>;

/** What the user is told of what was found: rules and settings that are not in effect, files, the sandbox. */
export function factWarnings(
  order: ToldOrder,
  facts: ToldFacts,
): readonly string[] {
  const { settings, distrust, userConfig: { claudeJson }, addedFiles, sandboxLack } = facts;
  return [
    ...ignoredRules(settings, { distrust, claudeJson }),
    ...settingsWarnings(order, facts),
    ...addedFileWarnings(addedFiles),
    ...sandboxWarnings(sandboxLack),
  ];
}

/** What is told of a sandbox that settings ask for and that is not to be had, as `claude -p` does in its words. */
function sandboxWarnings(lack: readonly string[] = []): readonly string[] {
  return lack.length === 0 ? [] : [
    `Commands run without the sandbox that settings ask for, which takes ${lack.join(" and ")}: ` +
    "nothing restricts what they do with files and the network",
  ];
}

/** What decides what is told of settings. */
type ToldOrder = Pick<RunOrder, "answerAlone" | "disallowedTools" | "forwarded">;

/** What `claude -p` says on stderr of flags, rules and settings that are not what they should be: of the last two only if it prints a text. */
export function settingsWarnings(
  { answerAlone = false, disallowedTools, forwarded }: ToldOrder,
  { documents, version }: {
    readonly documents: readonly SettingsDocument[];
    readonly version?: string | undefined;
  },
): readonly string[] {
  if (version === undefined) return [];
  const ofEffort = oneLineEach(unknownEffort(forwarded));
  if (!answerAlone) return ofEffort;
  const flag = "--allowedTools=";
  const allowedTools = forwarded.filter((argument) => argument.startsWith(flag))
    .map((argument) => argument.slice(flag.length));
  const settings = soundSettings(documents);
  const ofRules = unknownTools({ settings, allowedTools, disallowedTools }, version);
  const tornApart = [
    ...tornRules("--allowedTools", allowedTools),
    ...tornRules("--disallowedTools", disallowedTools),
  ];
  return [
    ...ofEffort,
    ...oneLineEach([...ofRules, ...hasCapability(version, "tornRulesWarnings") ? tornApart : []]),
    ...hasCapability(version, "settingsWarnings") ? untakenSettings(documents, version) : [],
  ];
}

function oneLineEach(texts: readonly string[]): readonly string[] {
  return texts.map((text) => text.replace(/\s+/gu, " "));
}

const FLAG = "--effort=";
/** What the flag takes, and what it takes without telling so. */
const LEVELS: readonly string[] = ["low", "medium", "high", "xhigh", "max"];
const OTHERS: readonly string[] = ["med", "ultracode"];

/** What `claude -p` says on stderr of an effort that it does not know, a line or none. */
function unknownEffort(forwarded: readonly string[]): readonly string[] {
  const value = forwarded.findLast((argument) => argument.startsWith(FLAG))?.slice(FLAG.length);
  if (value === undefined) return [];
  if ([...LEVELS, ...OTHERS].includes(value.trim().toLowerCase())) return [];
  return [
    `Unknown --effort value '${value}' — ignoring it and using the default effort. ` +
    `Valid values: ${LEVELS.join(", ")}.`,
  ];
}

/** How much of a rule is told, in characters. */
const LONGEST_RULE = 64;

/** What is said of the first rule of each flag, but for the rule. */
const SAID = {
  allow: "so this list may allow more or less than you meant",
  deny: "so a tool you meant to block may still run",
};

/** What `claude -p` says on stderr of rules of a flag that look as if they were torn apart, a line or none (2.1.330). */
function tornRules(
  flag: "--allowedTools" | "--disallowedTools",
  lists: readonly string[],
): readonly string[] {
  const [first, ...others] = new Set(lists.flatMap(rulesOf)).values()
    .filter((rule) => !isWhole(rule));
  if (first === undefined) return [];
  const list = flag === "--allowedTools" ? "allow" : "deny";
  const shown = first.length > LONGEST_RULE ? `${first.slice(0, LONGEST_RULE)}…` : first;
  const more = others.length === 0 ? "" : ` This list has ${others.length} more like it.`;
  return [
    `${flag}: "${shown}" doesn't look like a complete rule, ${
      SAID[list]
    }. A rule looks like Bash or Bash(git *). ` +
    'Check for a missing ")", a space before "(", or text after ")". If a ")" belongs inside your rule, the list may ' +
    `have split there and the quoted text is only part of it: move the whole rule to permissions.${list} in settings ` +
    `this session reads.${more}`,
  ];
}

/** What there are rules on. */
interface RuleSources {
  readonly settings: readonly Settings[];
  /** The values of `--allowedTools` and of `--disallowedTools`. */
  readonly allowedTools: readonly string[];
  readonly disallowedTools: readonly string[];
}

/**
 * What `claude -p` says on stderr of rules whose tools it does not have, a line for each: of those
 * of settings that deny or ask, and of those of the command line.
 */
function unknownTools(
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

/** How much of one document is told, and of one fault: in lines, and in characters of the place and of what is said. */
const MOST_FAULTS = 10;
const LONGEST_TEXT = 500;

const MEND =
  "Fix each problem listed, then start Claude Code again. For settings sent with applyFlagSettings, shown as " +
  "SDK inline settings, send them again instead.";

/**
 * What `claude -p` says on stderr of settings that are not in effect, as a text of some lines: of documents
 * that it has left out, and of entries that it has skipped.
 */
function untakenSettings(
  documents: readonly SettingsDocument[],
  version: string,
): readonly string[] {
  const left = documents.flatMap((document) => linesOf(document, document.faults));
  const skipped = documents.filter(({ faults }) => faults.length === 0)
    .flatMap((document) => linesOf(document, skippedIn(document, version)));
  const parts = [
    ...(left.length === 0 ? [] : [
      "These settings did not load, so nothing in them is in effect, including hooks, permission rules and sandbox " +
      "settings, though environment variables they already set can stay:",
      ...left,
    ]),
    ...(skipped.length === 0
      ? []
      : ["These settings entries were skipped; the rest of each source is in effect:", ...skipped]),
  ];
  return parts.length === 0 ? [] : [[...parts, MEND].join("\n")];
}

function linesOf({ name }: SettingsDocument, faults: readonly SettingsFault[]): readonly string[] {
  const more = faults.length - MOST_FAULTS;
  return [
    ...faults.slice(0, MOST_FAULTS).map(({ path, message }) =>
      `  ${shown(name)}${path === "" ? "" : ` (${shown(path)})`}: ${shown(message)}`
    ),
    ...(more > 0 ? [`  … and ${more} more in ${shown(name)}`] : []),
  ];
}

/** A text in one line, of which the beginning is enough. */
function shown(text: string): string {
  return text.slice(0, LONGEST_TEXT).replace(/\s+/gu, " ").trimEnd();
}

function skippedIn(
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

/** What `claude -p` says on stderr of what `--add-dir` names that is no folder. */
function addedFileWarnings(files: readonly AddedFile[] = []): readonly string[] {
  return files.map(({ path, parent }) =>
    `${path} is not a directory. Did you mean to add the parent directory ${parent}?`
  );
}
