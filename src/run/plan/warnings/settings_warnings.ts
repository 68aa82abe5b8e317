import type { RunOrder } from "../run_order.ts";
import { tornRules } from "./torn_rules.ts";
import { unknownEffort } from "./unknown_effort.ts";
import { unknownTools } from "./unknown_tools.ts";
import { untakenSettings } from "./untaken_settings.ts";
import { type SettingsDocument, soundSettings } from "../../../sandbox/child/read_settings.ts";
import { hasCapability } from "../../../claude/versions/profiles.ts";

/** What decides what is told of settings. */
export type ToldOrder = Pick<RunOrder, "answerAlone" | "disallowedTools" | "forwarded">;

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
