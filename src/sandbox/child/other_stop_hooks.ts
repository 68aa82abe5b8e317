import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";

/**
 * Whether a Stop hook other than ours may run, which may make the assistant go on after Stop.
 *
 * Answers yes when in doubt: a yes costs about 35 ms, a wrong no would cut a turn short. Plugins count, because
 * they bring hooks along.
 *
 * @param settings every settings object that applies to the run, less the hooks that are not read
 */
export function mayHaveOtherStopHooks(settings: readonly JsonObject[]): boolean {
  return settings.some(({ hooks, enabledPlugins }) =>
    (isJsonObject(hooks) && hooks["Stop"] !== undefined) ||
    (isJsonObject(enabledPlugins) && Object.keys(enabledPlugins).length > 0)
  );
}
