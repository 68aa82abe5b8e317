import { isJsonObject, type JsonObject } from "../json_object.ts";
import { withoutDeepValues } from "./deep_values.ts";
import { MALFORMED, type SettingsFault, settingsFaults } from "./settings_faults.ts";
import { type VersionFaults, versionFaults } from "./version_faults.ts";

/** What a file or a flag says that should hold settings, and what Claude Code makes of it. */
export interface JudgedSettings {
  readonly values: JsonObject;
  /** Why Claude Code leaves all of it out; empty where it does not. */
  readonly faults: readonly SettingsFault[];
  /** What of it is nested too deeply, and not among the values. */
  readonly tooDeep?: readonly SettingsFault[];
  /** The same as the faults of some versions, until it is known which it is. */
  readonly ofVersion?: VersionFaults;
}

/** What a value says that should be settings. */
export function judgedSettings(said: unknown): JudgedSettings {
  const { values, faults: tooDeep } = withoutDeepValues(isJsonObject(said) ? said : {});
  const settings = isJsonObject(said) ? values : said;
  const ofVersion = versionFaults(settings);
  const isOfVersion = Object.values(ofVersion).some((faults) => faults.length > 0);
  return {
    values,
    faults: settingsFaults(settings),
    ...(tooDeep.length > 0 ? { tooDeep } : {}),
    ...(isOfVersion ? { ofVersion } : {}),
  };
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
