import { UnsupportedError } from "../../cli_error.ts";
import { definedFields } from "../../defined_fields.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { readSettings, type SettingsDocument } from "../../sandbox/child/read_settings.ts";
import { parseCallerSettings } from "../../sandbox/child/run_settings.ts";
import { absolutePath, parentOf } from "../../paths.ts";
import { hooklessFlag } from "../plan/permission_mode.ts";
import type { RunFacts } from "../plan/plan_facts.ts";
import { flagValues, type RunOrder } from "../plan/run_order.ts";
import type { Places } from "./project_facts.ts";

/** Asks Claude Code for its version. Only the first call starts Claude Code, which takes 8 to 60 ms. */
export type AskVersion = () => Promise<string | undefined>;

/** The version that is assumed for a program that names none: newer than every profile. */
export const UNKNOWN_VERSION = "9999.0.0";

/** Used if `--settings` is missing. Nothing has to be loaded to judge it. */
const NO_SETTINGS: SettingsDocument = {
  source: "flags",
  name: "--settings",
  values: {},
  faults: [],
};

/** The document of `--settings`, and the caller's settings with the caller's later changes. */
export interface GivenSettings extends Pick<RunFacts, "callerSettings"> {
  readonly given: SettingsDocument;
}

/**
 * Reads `--settings`.
 *
 * @throws {CliError} when its value is invalid JSON, or its file cannot be read
 */
export async function readGivenSettings(
  { settings, flagSettings, cwd }: RunOrder,
  version: AskVersion,
): Promise<GivenSettings> {
  if (settings === undefined && flagSettings === undefined) {
    return { given: NO_SETTINGS, callerSettings: {} };
  }
  const given = settings === undefined
    ? NO_SETTINGS
    : await judge(await parseCallerSettings(settings, { cwd }), { cwd, version });
  const values = given.faults.length === 0 ? given.values : {};
  const { applyFlagSettings } = await import(
    "../../sandbox/child/changed_arguments.ts"
  );
  const { resolvePaths } = await import("../../sandbox/child/run_settings.ts");
  return { given, callerSettings: resolvePaths(applyFlagSettings(values, flagSettings), cwd) };
}

/** Reads all settings documents of a run. */
export async function readDocuments(
  { flagSettings, cwd, env, forwarded }: RunOrder,
  { given, callerSettings, projectRoot, userDir, sources, isAlone, version }:
    & GivenSettings
    & Pick<Places, "projectRoot" | "userDir" | "sources" | "isAlone">
    & { readonly version: AskVersion },
): Promise<readonly SettingsDocument[]> {
  const read = await readSettings({
    projectRoot,
    home: env["HOME"],
    userDir,
    // A restricted session reads no settings files except an administrator's.
    sources: forwarded.includes("--restricted") ? new Set() : sources,
    flags: flagSettings === undefined ? given : { ...given, values: callerSettings, faults: [] },
    sharesLocal: !isAlone,
  });
  const managed = hooklessFlag({ env, forwarded }) === undefined
    ? await managedDocuments(forwarded)
    : [];
  return await Promise.all(
    [...read, ...managed].map((document) => judge(document, { cwd, version })),
  );
}

/** Whether any settings were found, so that Claude Code may warn about some. */
export function hasSettings(documents: readonly SettingsDocument[]): boolean {
  return documents.some((document) => document !== NO_SETTINGS);
}

/** Finds the faults of a document as this version of Claude Code does, and makes its relative paths absolute. */
async function judge(
  document: SettingsDocument,
  { cwd, version }: { readonly cwd: string; readonly version: AskVersion },
): Promise<SettingsDocument> {
  if (document.unchecked === undefined) return await withAbsolutePaths(document, cwd);
  const { checkSettings } = await import("../../claude/settings/settings_faults.ts");
  const judged = checkSettings(document, await version() ?? UNKNOWN_VERSION);
  return await withAbsolutePaths(judged, cwd);
}

/** The child reads the user's and the caller's settings from another folder, so relative paths would change. */
async function withAbsolutePaths(
  document: SettingsDocument,
  cwd: string,
): Promise<SettingsDocument> {
  const { source, name, values } = document;
  if (document === NO_SETTINGS || (source !== "user" && source !== "flags")) return document;
  const { resolvePaths } = await import("../../sandbox/child/run_settings.ts");
  if (name.startsWith("--")) return { ...document, values: resolvePaths(values, cwd) };
  const folder = parentOf(absolutePath(name, cwd));
  return { ...document, values: resolvePaths(values, folder, { rulesFrom: folder }) };
}

const isOn = (value: unknown) => value !== undefined && value !== false && value !== "false";

/** Settings with which only an administrator's hooks run, and the values that have this effect. */
const SILENCING: Readonly<Record<string, (value: unknown) => boolean>> = {
  disableAllHooks: isOn,
  allowManagedHooksOnly: isOn,
  strictPluginOnlyCustomization: (value) =>
    value === true || (Array.isArray(value) && value.includes("hooks")),
};

/**
 * The restrictions of `--managed-settings`. Claude Code itself reads the flag. It ignores values that would allow
 * something, and the whole flag if an administrator has set other settings (2.1.330).
 *
 * @throws {UnsupportedError} when they disable our hooks
 */
export async function managedDocuments(
  forwarded: readonly string[],
): Promise<readonly SettingsDocument[]> {
  const flag = "--managed-settings";
  const given = flagValues(forwarded, flag).at(-1);
  if (given === undefined) return [];
  const settings = parseObject(given);
  const silencing = Object.keys(SILENCING).find((name) => SILENCING[name]?.(settings[name]));
  if (silencing !== undefined) {
    throw new UnsupportedError(
      `Cannot honour "${silencing}" in ${flag}: hooks of claude-print's own tell when a turn ends`,
      { suggestion: "Leave it out, or use claude -p" },
    );
  }
  const { permissions, sandbox } = settings;
  const { deny, ask, disableBypassPermissionsMode } = isJsonObject(permissions) ? permissions : {};
  const restrictions = {
    permissions: definedFields({ deny, ask, disableBypassPermissionsMode }),
    ...(isJsonObject(sandbox) ? { sandbox } : {}),
  };
  const { readSettingsValue } = await import("../../claude/settings/settings_faults.ts");
  return [{ source: "managed", name: flag, ...readSettingsValue(restrictions) }];
}

/** Invalid JSON counts as no settings here; Claude Code reports it. */
function parseObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
