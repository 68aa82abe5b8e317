import type { JsonObject } from "../../transcript/json_object.ts";

/** Settings that start a program to draw or to complete something on the screen, which print mode does not have. */
const SCREEN_COMMANDS = ["statusLine", "subagentStatusLine", "fileSuggestion"];

/** A command that does nothing: there is no value that stands for none (2.1.197 and 2.1.330). */
const NOTHING = { type: "command", command: "" };

/**
 * The caller's settings so that no program is started for a screen that nobody looks at: `claude -p` does not start
 * a project's status line, so a project must not get it started here.
 *
 * @param project the settings that the working directory brings along, which the caller's override
 */
export function withoutScreenCommands(
  caller: JsonObject,
  project: readonly JsonObject[],
): JsonObject {
  const named = SCREEN_COMMANDS.filter((name) =>
    [caller, ...project].some((settings) => settings[name] !== undefined)
  );
  return { ...caller, ...Object.fromEntries(named.map((name) => [name, NOTHING])) };
}
