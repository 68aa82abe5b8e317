import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";
import { CliError } from "../../cli_error.ts";

/**
 * Refuses a run in which hooks would come to life that somebody has silenced with `disableAllHooks`: hooks of ours tell
 * when a turn ends, and Claude Code runs all hooks or none. Where there are no others it is as good as honoured.
 *
 * Plugins count, because they bring hooks along.
 *
 * @param settings every settings object that applies to the run
 * @param options.hooked those of them whose hooks are read
 * @throws {CliError} when there is such a hook
 */
export function refuseSilencedHooks(
  settings: readonly JsonObject[],
  { hooked }: { readonly hooked: readonly JsonObject[] },
): void {
  if (!settings.some(({ disableAllHooks }) => disableAllHooks === true)) return;
  const waking = hooked.some(({ hooks }) => isFilled(hooks)) ||
    settings.some(({ enabledPlugins }) => isFilled(enabledPlugins));
  if (!waking) return;
  throw new CliError(
    'Cannot honour "disableAllHooks" in this folder: claude-print needs hooks of its own, and others would run with them',
    { suggestion: "Remove the hooks and plugins that it silences, or use claude -p" },
  );
}

function isFilled(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length > 0;
}
