import type { RunOrder } from "../run_order.ts";
import { tornRules } from "./torn_rules.ts";
import { unknownEffort } from "./unknown_effort.ts";
import { unknownTools } from "./unknown_tools.ts";
import { untakenSettings } from "./untaken_settings.ts";
import { type SettingsDocument, soundSettings } from "../../../sandbox/child/read_settings.ts";
import { isVersionAtLeast } from "../../../claude/versions/compare_versions.ts";

/** The first version that tells of rules, and the first that tells of settings, which tells of both beside a text alone. */
const TELLS_OF_RULES = "2.1.197";
const TELLS_OF_SETTINGS = "2.1.330";

/** What decides what is told of settings. */
export type ToldOrder = Pick<RunOrder, "answerAlone" | "disallowedTools" | "forwarded">;

/** What `claude -p` says on stderr of flags, rules and settings that are not what they should be (2.1.197 and 2.1.330). */
export function settingsWarnings(
  { answerAlone = false, disallowedTools, forwarded }: ToldOrder,
  { documents, version }: {
    readonly documents: readonly SettingsDocument[];
    readonly version?: string | undefined;
  },
): readonly string[] {
  if (version === undefined || !isVersionAtLeast(version, TELLS_OF_RULES)) return [];
  const tellsOfSettings = isVersionAtLeast(version, TELLS_OF_SETTINGS);
  const ofEffort = oneLineEach(unknownEffort(forwarded, version));
  if (tellsOfSettings && !answerAlone) return ofEffort;
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
    ...oneLineEach([...ofRules, ...tellsOfSettings ? tornApart : []]),
    ...tellsOfSettings ? untakenSettings(documents, version) : [],
  ];
}

function oneLineEach(texts: readonly string[]): readonly string[] {
  return texts.map((text) => text.replace(/\s+/gu, " "));
}

/** Whether there is something that some version tells of: only then it has to be asked for, which takes up to 90 ms. */
export function warningsHangOnVersion(
  order: ToldOrder,
  documents: readonly SettingsDocument[],
): boolean {
  return [TELLS_OF_RULES, TELLS_OF_SETTINGS]
    .some((version) => settingsWarnings(order, { documents, version }).length > 0);
}
