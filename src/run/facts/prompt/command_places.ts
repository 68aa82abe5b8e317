import type { RunOrder } from "../../plan/run_order.ts";
import { type CommandPlaces, pluginDirs } from "../../../sandbox/child/custom_command.ts";
import { absolutePath } from "../../../sandbox/paths.ts";
import type { JsonObject } from "../../../json_object.ts";

/** Where the skills and custom commands of a run come from. */
export function commandPlaces(
  { cwd, addDirs, forwarded }: Pick<RunOrder, "cwd" | "addDirs" | "forwarded">,
  { projectRoot, configDir, settings }: {
    /** The project's folder. */
    readonly projectRoot: string;
    /** The user's config dir. */
    readonly configDir: string;
    /** All settings in force. */
    readonly settings: readonly JsonObject[];
  },
): CommandPlaces {
  const absolute = (dir: string) => absolutePath(dir, cwd);
  const given = forwarded.flatMap((argument) =>
    /^--plugin-dir(?:-no-mcp)?=(.*)$/su.exec(argument)?.[1] ?? []
  );
  return {
    projectRoot,
    configDir,
    addDirs: addDirs.map(absolute),
    plugins: [...given.map(absolute), ...pluginDirs(configDir, { settings })],
  };
}
