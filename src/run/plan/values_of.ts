import type { JsonObject } from "../../transcript/json_object.ts";
import type { Settings, SettingsSource } from "../../sandbox/child/read_settings.ts";

/** What settings hold, but for those of some sources. */
export function valuesOf(
  settings: readonly Settings[],
  { without = [] }: { readonly without?: readonly SettingsSource[] } = {},
): readonly JsonObject[] {
  return settings.filter(({ source }) => !without.includes(source)).map(({ values }) => values);
}
