import { isJsonObject, type JsonObject } from "../../json_object.ts";
import {
  MALFORMED,
  type SettingsFault,
  settingsFaults,
  withoutDeepValues,
} from "./settings_faults.ts";

/** What a file or a flag says that should hold settings, and what Claude Code makes of it. */
export interface JudgedSettings {
  readonly values: JsonObject;
  /** Why Claude Code leaves all of it out; empty where it does not. */
  readonly faults: readonly SettingsFault[];
  /** What of it is nested too deeply, and not among the values. */
  readonly tooDeep?: readonly SettingsFault[];
  /** What is still to be judged, by the version of Claude Code. */
  readonly unjudged?: unknown;
}

/** What a value says that should be settings, judged later. */
export function readSettingsValue(said: unknown): JudgedSettings {
  const { values, faults: tooDeep } = withoutDeepValues(isJsonObject(said) ? said : {});
  const isEmpty = isJsonObject(said) && Object.keys(said).length === 0;
  return {
    values,
    faults: [],
    ...(tooDeep.length > 0 ? { tooDeep } : {}),
    ...(isEmpty ? {} : { unjudged: isJsonObject(said) ? values : said }),
  };
}

/** What a text says that should be settings, judged later. */
export function readSettingsText(text: string): JudgedSettings {
  let settings: unknown;
  try {
    settings = JSON.parse(text);
  } catch {
    return unreadableSettings();
  }
  return readSettingsValue(settings);
}

/** Judges settings as a version of Claude Code does. */
export function judgeFor<Document extends JudgedSettings>(
  { unjudged, ...document }: Document,
  version: string,
): Omit<Document, "unjudged"> {
  return unjudged === undefined
    ? document
    : { ...document, faults: settingsFaults(unjudged, version) };
}

/** Settings of which nothing can be known. */
export function unreadableSettings(message = MALFORMED): JudgedSettings {
  return { values: {}, faults: [{ path: "", message }] };
}
