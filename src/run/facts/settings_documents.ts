import { UnsupportedError } from "../../cli_error.ts";
import type { SettingsDocument } from "../../sandbox/child/read_settings.ts";
import { readSettingsValue } from "../../claude/settings/judged_settings.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

const FLAG = "--managed-settings";

/**
 * What the settings of `--managed-settings` forbid, as far as it matters what settings say: Claude Code takes nothing of
 * them that would allow something, and nothing at all where an administrator has set others (2.1.330).
 *
 * @param forwarded the arguments that Claude Code gets as they are: it reads the flag itself
 * @throws {CliError} when they keep hooks from running, which tell when a turn ends
 */
export function managedByCaller(forwarded: readonly string[]): readonly SettingsDocument[] {
  const given = forwarded.findLast((argument) => argument.startsWith(`${FLAG}=`));
  if (given === undefined) return [];
  const settings = parsed(given.slice(FLAG.length + 1));
  const silencing = Object.keys(SILENCING).find((name) => SILENCING[name]?.(settings[name]));
  if (silencing !== undefined) {
    throw new UnsupportedError(
      `Cannot honour "${silencing}" in ${FLAG}: hooks of claude-print's own tell when a turn ends`,
      { suggestion: "Leave it out, or use claude -p" },
    );
  }
  const { permissions, sandbox } = settings;
  const { deny, ask, disableBypassPermissionsMode } = isJsonObject(permissions) ? permissions : {};
  const forbidding = {
    permissions: withoutGaps({ deny, ask, disableBypassPermissionsMode }),
    ...(isJsonObject(sandbox) ? { sandbox } : {}),
  };
  return [{ source: "managed", name: FLAG, ...readSettingsValue(forbidding) }];
}

const isOn = (value: unknown) => value !== undefined && value !== false && value !== "false";

/** Keys by which none but an administrator's hooks run, and the values that do so. */
const SILENCING: Readonly<Record<string, (value: unknown) => boolean>> = {
  disableAllHooks: isOn,
  allowManagedHooksOnly: isOn,
  strictPluginOnlyCustomization: (value) =>
    value === true || (Array.isArray(value) && value.includes("hooks")),
};

function withoutGaps(values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function parsed(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    // Claude Code says so.
    return {};
  }
}
