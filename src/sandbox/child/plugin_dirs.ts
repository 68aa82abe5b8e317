import { readJsonObject } from "../read_json_object.ts";
import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";

/**
 * The folders of the plugins that settings enable, as `plugins/installed_plugins.json` of the user's config dir tells
 * where they are (2.1.168 to 2.1.330).
 */
export function pluginDirs(
  configDir: string,
  { settings }: { readonly settings: readonly JsonObject[] },
): readonly string[] {
  const enabled = new Set(
    settings.flatMap(({ enabledPlugins }) =>
      isJsonObject(enabledPlugins)
        ? Object.keys(enabledPlugins).filter((id) => enabledPlugins[id] !== false)
        : []
    ),
  );
  if (enabled.size === 0) return [];
  const installed = readJsonObject(`${configDir}/plugins/installed_plugins.json`)?.["plugins"];
  return Object.entries(isJsonObject(installed) ? installed : {})
    .filter(([id]) => enabled.has(id))
    .flatMap(([, installs]) => Array.isArray(installs) ? installs : [])
    .map((install: unknown) => isJsonObject(install) ? install["installPath"] : undefined)
    .filter((path) => typeof path === "string");
}
