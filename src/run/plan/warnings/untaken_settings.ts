import { RULE_LISTS, ruleProblem } from "./permission_rule.ts";
import type { SettingsDocument } from "../../../sandbox/child/read_settings.ts";
import { skippedHooks } from "../../../claude/settings/hook_faults.ts";
import type { SettingsFault } from "../../../claude/settings/settings_faults.ts";
import { isJsonObject } from "../../../json_object.ts";

/** How much of one document is told, and of one fault: in lines, and in characters of the place and of what is said. */
const MOST_FAULTS = 10;
const LONGEST = 500;

const MEND =
  "Fix each problem listed, then start Claude Code again. For settings sent with applyFlagSettings, shown as " +
  "SDK inline settings, send them again instead.";

/**
 * What `claude -p` says on stderr of settings that are not in effect, as a text of some lines: of documents
 * that it has left out, and of entries that it has skipped.
 */
export function untakenSettings(
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
  return text.slice(0, LONGEST).replace(/\s+/gu, " ").trimEnd();
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
