import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { wholePath } from "../../whole_path.ts";

/**
 * Settings whose paths for the Bash sandbox are named from the root. Claude Code takes others from the folder in which it
 * finds the settings (2.1.197 and 2.1.330), and those of the user and the caller are given to it in the private folder:
 * `allowWrite: [".."]` would open that to commands, and with another `..` those of all runs.
 *
 * @param folder from where `claude -p` takes them
 */
export function withWholePaths(settings: JsonObject, folder: string): JsonObject {
  const { sandbox } = settings;
  const filesystem = isJsonObject(sandbox) ? sandbox["filesystem"] : undefined;
  if (!isJsonObject(sandbox) || !isJsonObject(filesystem)) return settings;
  const whole = Object.entries(filesystem).map(([name, value]) => [
    name,
    Array.isArray(value)
      ? value.map((each) => typeof each === "string" ? named(each.trim(), folder) : each)
      : value,
  ]);
  return { ...settings, sandbox: { ...sandbox, filesystem: Object.fromEntries(whole) } };
}

function named(path: string, folder: string): string {
  return path === "~" || /^~?\//u.test(path) ? path : wholePath(path, folder);
}
