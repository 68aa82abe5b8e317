import { isJsonObject, type JsonObject } from "../json_object.ts";
import { MALFORMED, type SettingsFault, settingsFaults } from "./settings_faults.ts";
import { type VersionFaults, versionFaults } from "./version_faults.ts";

/** What a file or a flag says that should hold settings, and what Claude Code makes of it. */
export interface JudgedSettings {
  readonly values: JsonObject;
  /** Why Claude Code leaves all of it out; empty where it does not. */
  readonly faults: readonly SettingsFault[];
  /** The same of some versions, until it is known which it is. */
  readonly ofVersion?: VersionFaults;
}

/** What a value says that should be settings. */
export function judgedSettings(settings: unknown): JudgedSettings {
  const values = isJsonObject(settings) ? settings : {};
  const ofVersion = versionFaults(settings);
  const isOfVersion = Object.values(ofVersion).some((faults) => faults.length > 0);
  return { values, faults: settingsFaults(settings), ...(isOfVersion ? { ofVersion } : {}) };
}

/** What a text says that should be settings. */
export function judgedText(text: string): JudgedSettings {
  let settings: unknown;
  try {
    settings = JSON.parse(text);
  } catch {
    return unreadableSettings();
  }
  return judgedSettings(settings);
}

/** Settings of which nothing can be known. */
export function unreadableSettings(message = MALFORMED): JudgedSettings {
  return { values: {}, faults: [{ path: "", message }] };
}
