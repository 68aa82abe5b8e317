import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { wholePath } from "../../whole_path.ts";
import { literalPattern } from "./literal_pattern.ts";

/** Tools whose rules are about files. */
const OF_FILES = [
  ...["Cd", "Edit", "Glob", "MultiEdit", "NotebookEdit", "NotebookRead", "Read", "Write"],
];

/** A rule about files that begin where the settings are: two slashes begin at the root, none where the run works. */
const BESIDE_SETTINGS = /^(\s*(\w+)\()\/(?!\/)([^]*)\)([^)]*)$/u;

/**
 * Settings whose paths for the Bash sandbox, and whose rules about files beside them, are named from the root. Claude Code
 * takes others from the folder in which it finds the settings (2.1.330), and those of the user and the caller
 * are given to it in the private folder: `allowWrite: [".."]` and `Edit(/**)` would open that to commands, and with another
 * `..` those of all runs.
 *
 * @param folder from where `claude -p` takes paths for the Bash sandbox
 * @param options.rulesFrom from where it takes rules; absent where that is a place of its own, for settings that stand on
 * the command line: then rules that allow something there are left out
 */
export function withWholePaths(
  settings: JsonObject,
  folder: string,
  { rulesFrom }: { readonly rulesFrom?: string } = {},
): JsonObject {
  return withWholeRules(withWholeFolders(settings, folder), rulesFrom);
}

function withWholeRules(settings: JsonObject, from: string | undefined): JsonObject {
  const { permissions } = settings;
  if (!isJsonObject(permissions)) return settings;
  const whole = ["allow", "deny", "ask"].flatMap((list) => {
    const rules: unknown = permissions[list];
    if (!Array.isArray(rules)) return [];
    return [[list, rules.flatMap((rule) => wholeRule(rule, { from, list }))]];
  });
  return { ...settings, permissions: { ...permissions, ...Object.fromEntries(whole) } };
}

function wholeRule(
  rule: unknown,
  { from, list }: { readonly from: string | undefined; readonly list: string },
): readonly unknown[] {
  const [, head, tool = "", path = "", tail] =
    BESIDE_SETTINGS.exec(typeof rule === "string" ? rule : "") ?? [];
  if (typeof rule !== "string" || head === undefined || !OF_FILES.includes(tool)) return [rule];
  if (from === undefined) return list === "allow" ? [] : [rule];
  const whole = wholePath(`./${path}`, literalPattern(from));
  return [`${head}/${whole}${path.endsWith("/") ? "/" : ""})${tail}`];
}

function withWholeFolders(settings: JsonObject, folder: string): JsonObject {
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
