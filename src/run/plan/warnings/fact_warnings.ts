import { addedFileWarnings } from "./added_files.ts";
import { ignoredRules } from "./ignored_rules.ts";
import type { RunFacts } from "../plan_facts.ts";
import type { RunOrder } from "../run_order.ts";
import { untakenSettings } from "./untaken_settings.ts";
import {
  type Settings,
  type SettingsDocument,
  soundSettings,
} from "../../../sandbox/child/read_settings.ts";
import { hasCapability, isNewerThanProfiles } from "../../../claude/versions/profiles.ts";
import {
  isWhole,
  parseRule,
  type PermissionRule,
  ruleProblem,
  rulesOf,
  ruleText,
  wildProblem,
} from "./permission_rule.ts";
import { toolsOf } from "../../../claude/versions/tables.ts";
import { isJsonObject } from "../../../json_object.ts";

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
const LONGEST = 64;

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
  const shown = first.length > LONGEST ? `${first.slice(0, LONGEST)}…` : first;
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
