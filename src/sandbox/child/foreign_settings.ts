import { UnsupportedError } from "../../cli_error.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/** Whether some settings silence all hooks. */
export function silencesHooks(settings: readonly JsonObject[]): boolean {
  return settings.some(({ disableAllHooks }) => disableAllHooks === true);
}

/**
 * Refuses a run in which `disableAllHooks` silences hooks that claude-print cannot leave out. Its own hooks report the end
 * of a turn; they are a plugin's then, and Claude Code runs the hooks of all plugins or of none.
 *
 * @param settings every settings object that applies to the run
 * @param options.hasPlugins whether the command line names plugins
 * @param options.isManaged whether an administrator has settings: Claude Code takes none of a command line then that
 * keeps other hooks from running
 * @throws {UnsupportedError} when there may be such a hook
 */
export function refuseSilencedHooks(
  settings: readonly JsonObject[],
  { hasPlugins, isManaged }: { readonly hasPlugins: boolean; readonly isManaged: boolean },
): void {
  if (!silencesHooks(settings)) return;
  const plugins = hasPlugins || settings.some(({ enabledPlugins }) => isFilled(enabledPlugins));
  if (!plugins && !isManaged) return;
  throw new UnsupportedError(
    `Cannot honour "disableAllHooks" beside ${
      plugins ? "plugins" : "settings of an administrator"
    }: claude-print needs hooks of its own, and others would run with them`,
    { suggestion: "Remove one of them, or use claude -p" },
  );
}

function isFilled(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length > 0;
}

/**
 * Whether a hook other than ours may run at an event: one of Stop may make the assistant go on, one of SessionEnd may do
 * what is waited for, one of UserPromptSubmit may forbid a prompt.
 *
 * Answers yes when in doubt: a yes costs some time, a wrong no would cut a turn short. Plugins count, because they bring
 * hooks along.
 *
 * @param settings every settings object that applies to the run, less the hooks that are not read
 */
export function mayHaveOtherHooks(
  settings: readonly JsonObject[],
  event: "Stop" | "SessionEnd" | "UserPromptSubmit",
): boolean {
  return settings.some(({ hooks, enabledPlugins }) =>
    (isJsonObject(hooks) && hooks[event] !== undefined) ||
    (isJsonObject(enabledPlugins) && Object.keys(enabledPlugins).length > 0)
  );
}

/**
 * Whether a hook has a say in another model, or hears of it: Claude Code calls it when its model changes (2.1.330), and
 * nobody when one with another model is started.
 *
 * @param settings every settings object that applies to the run, less the hooks that are not read
 */
export function watchesModels(settings: readonly JsonObject[]): boolean {
  return settings.some(({ hooks }) =>
    isJsonObject(hooks) && ["PreModelSwitch", "PostModelSwitch"].some((event) => event in hooks)
  );
}

/** Settings that start a program to draw or to complete something on the screen, which print mode does not have. */
export const SCREEN_COMMANDS = ["statusLine", "subagentStatusLine", "fileSuggestion"] as const;

/** A command that does nothing: there is no value that stands for none (2.1.330). */
const NOTHING = { type: "command", command: "" };

/**
 * The caller's settings so that no program is started for a screen that nobody looks at: `claude -p` does not start
 * a project's status line, so a project must not get it started here, whenever its settings come to hold one: Claude Code
 * reads them again when they change, as where a tool checks out another branch.
 */
export function withoutScreenCommands(caller: JsonObject): JsonObject {
  return { ...caller, ...Object.fromEntries(SCREEN_COMMANDS.map((name) => [name, NOTHING])) };
}
