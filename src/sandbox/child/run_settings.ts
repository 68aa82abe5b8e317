import { readRegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { CliError } from "../../cli_error.ts";
import type { SettingsDocument } from "./read_settings.ts";
import { absolutePath, wholePath } from "../../paths.ts";

/** Claude Code takes 2 MiB (2.1.330), and what is ours comes on top. */
const MAX_BYTES = 2_000_000;

/** How Claude Code names settings that are given on the command line themselves. */
const INLINE = "--settings (inline JSON)";

/**
 * The caller's `--settings`, inline or a file's path, as `claude -p` takes it; comments are allowed. A file of which
 * Claude Code takes nothing ends no run.
 *
 * @param options.cwd the folder from which a relative path leads to the file
 * @throws {CliError} when the JSON is none that stands on the command line, or the file cannot be read
 */
export async function parseCallerSettings(
  value: string,
  { cwd }: { readonly cwd: string },
): Promise<SettingsDocument> {
  const inline = value.trimStart().startsWith("{");
  const what = inline ? "--settings" : `the settings file "${value}"`;
  const name = inline ? INLINE : absolutePath(value, cwd);
  const text = inline ? value : readSettingsFile(name, what);
  const { readSettingsValue, unreadableSettings } = await import(
    "../../claude/settings/settings_faults.ts"
  );
  let parsed: unknown;
  try {
    parsed = text.trim() === "" ? {} : await parse(text);
  } catch (cause) {
    if (!inline) return { source: "flags", name, ...unreadableSettings() };
    throw new CliError(`Cannot parse --settings: ${(cause as Error).message}`, {
      suggestion: `Give a JSON object, for example --settings '{"model":"opus"}'`,
      cause,
    });
  }
  return { source: "flags", name, ...readSettingsValue(parsed) };
}

/** JSON as it is, however deeply it is nested, or with comments. */
async function parse(text: string): Promise<unknown> {
  try {
    return JSON.parse(text);
  } catch {
    return (await import("@std/jsonc/parse")).parse(text);
  }
}

function readSettingsFile(path: string, what: string): string {
  try {
    return new TextDecoder().decode(readRegularFile(path, { limit: MAX_BYTES }));
  } catch (cause) {
    const isMissing = cause instanceof Deno.errors.NotFound;
    if (!isMissing && !(cause instanceof UnfitFileError)) throw cause;
    const problem = isMissing
      ? `Error: Settings file not found: ${path}`
      : `Cannot read ${what}: ${cause.reason}`;
    throw new CliError(problem, {
      suggestion: "Give --settings a JSON object or the path of a file that holds one",
      cause,
    });
  }
}

/** What is ours in the settings of a run. */
export interface OwnSettings {
  readonly hooks: JsonObject;
  readonly memoryPath: string;
  /** The status line that tells us what the child costs. */
  readonly statusLine?: JsonObject;
  /** Plugins of Claude Code's own, by id, that are left out because they have nothing to do. */
  readonly plugins?: JsonObject;
  /** Tools of ours that need no permission. */
  readonly allow?: readonly string[];
  /** Whether the caller answers permission requests. */
  readonly asksCaller: boolean;
  /** Folders that no tool may read or write, from the Bash sandbox or without. */
  readonly outOfReach: readonly string[];
  /** The same as patterns of rules: it is known only once a tool is called what there is. */
  readonly outOfReachPatterns?: readonly string[];
  /** Folders that no command in the Bash sandbox may write to. */
  readonly readOnly: readonly string[];
  /** Folders that no command in the Bash sandbox sees, and what it sees of them all the same. */
  readonly hidden: { readonly folders: readonly string[]; readonly but: readonly string[] };
}

/**
 * The one settings object a run is started with: the caller's, with our hooks and rules added to the caller's own.
 *
 * - rules that deny come before all that allow: modes, other rules, hooks (2.1.330). Claude Code's Bash
 *   sandbox closes the same folders
 * - `denyInsteadOfPrompting` has Claude Code deny what only a person at the screen may allow, and go on (2.1.330), where
 *   our PermissionRequest hook is not asked: auto mode and plan mode behind an API without the safety check. It allows
 *   nothing, and hides the tools that ask a person. So it is not set for a caller that answers questions and plans
 * - `disableAllHooks: false` keeps a project from silencing our hooks
 * - `enableAllProjectMcpServers` is what `claude -p` does: it starts a project's servers without asking, whatever
 *   the caller's settings say (2.1.330)
 * - `autoMemoryDirectory` keeps memory where it always is: its path stands in the system prompt, which the API's cache
 *   would not know again if every run named another one
 * - `workflowKeywordTriggerEnabled: false` keeps the word "ultracode" in a prompt a word, as it is in print mode
 * - without animations and changing tips a child that waits in vain is silent (2.1.330), and leaves its
 *   processor time to others
 * - with a tip of ours in the place of its own it does not look for those that fit, by `ps` among others, which it does
 *   at each start, also where it shows none (2.1.330)
 * - plugins of Claude Code's own that have nothing to do are left out, unless the caller names them
 * - the rest keeps dialogs and a desktop file away
 */
export function runSettings(caller: JsonObject, ours: OwnSettings): JsonObject {
  const { hooks, memoryPath, outOfReach, readOnly, hidden, statusLine } = ours;
  const { plugins = {}, allow = [], asksCaller } = ours;
  const deny = ["Edit", "Read"].flatMap((tool) =>
    [...outOfReach.map(patternOf), ...ours.outOfReachPatterns ?? []]
      .map((pattern) => `${tool}(${pattern})`)
  );
  return {
    autoMemoryDirectory: memoryPath,
    ...caller,
    enableAllProjectMcpServers: true,
    hooks: merge(hooks, caller["hooks"]),
    permissions: merge({
      deny,
      ...(allow.length === 0 ? {} : { allow }),
      ...(asksCaller ? {} : { denyInsteadOfPrompting: true }),
    }, caller["permissions"]),
    sandbox: merge({
      filesystem: {
        denyWrite: readOnly,
        ...(hidden.folders.length === 0 ? {} : { denyRead: hidden.folders, allowRead: hidden.but }),
      },
    }, caller["sandbox"]),
    disableAllHooks: false,
    ...(Object.keys(plugins).length === 0
      ? {}
      : { enabledPlugins: merge(plugins, caller["enabledPlugins"]) }),
    ...(statusLine === undefined ? {} : { statusLine }),
    skipDangerousModePermissionPrompt: true,
    disableDeepLinkRegistration: "disable",
    workflowKeywordTriggerEnabled: false,
    prefersReducedMotion: true,
    spinnerTipsEnabled: false,
    spinnerTipsOverride: { excludeDefault: true, tips: ["-"] },
  };
}

/**
 * The rules by which tools may read what an earlier run of a session has put beside its transcript, as Claude Code lets
 * them where that is in its own config dir. There are none where a path means something else in a rule.
 */
export function readingRules(
  { userConfigDir, session }: { readonly userConfigDir: string; readonly session: string },
): readonly string[] {
  const isPlain = /^[\w./@+~-]+$/u.test(userConfigDir) && /^[\w-]+$/u.test(session);
  return isPlain ? [`Read(/${userConfigDir}/projects/*/${session}/tool-results/**)`] : [];
}

/** Joins two values of settings as Claude Code joins those of two files; what does not go together is ours. */
function merge(ours: unknown, theirs: unknown): unknown {
  if (Array.isArray(ours)) return Array.isArray(theirs) ? [...ours, ...theirs] : ours;
  if (!isJsonObject(ours) || !isJsonObject(theirs)) return ours;
  const merged = Object.entries(ours).map(([name, value]) => [name, merge(value, theirs[name])]);
  return { ...theirs, ...Object.fromEntries(merged) };
}

/** All that is in a folder, as a pattern of Claude Code's rules. */
function patternOf(folder: string): string {
  return `/${literalPattern(folder)}/**`;
}

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
export function resolvePaths(
  settings: JsonObject,
  folder: string,
  { rulesFrom }: { readonly rulesFrom?: string } = {},
): JsonObject {
  return resolveRules(resolveFolders(settings, folder), rulesFrom);
}

function resolveRules(settings: JsonObject, from: string | undefined): JsonObject {
  const { permissions } = settings;
  if (!isJsonObject(permissions)) return settings;
  const whole = ["allow", "deny", "ask"].flatMap((list) => {
    const rules: unknown = permissions[list];
    if (!Array.isArray(rules)) return [];
    return [[list, rules.flatMap((rule) => resolveRule(rule, { from, list }))]];
  });
  return { ...settings, permissions: { ...permissions, ...Object.fromEntries(whole) } };
}

function resolveRule(
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

function resolveFolders(settings: JsonObject, folder: string): JsonObject {
  const { sandbox } = settings;
  const filesystem = isJsonObject(sandbox) ? sandbox["filesystem"] : undefined;
  if (!isJsonObject(sandbox) || !isJsonObject(filesystem)) return settings;
  const whole = Object.entries(filesystem).map(([name, value]) => [
    name,
    Array.isArray(value)
      ? value.map((each) => typeof each === "string" ? resolvePath(each.trim(), folder) : each)
      : value,
  ]);
  return { ...settings, sandbox: { ...sandbox, filesystem: Object.fromEntries(whole) } };
}

function resolvePath(path: string, folder: string): string {
  return path === "~" || /^~?\//u.test(path) ? path : wholePath(path, folder);
}

/**
 * A path as a pattern of Claude Code's rules. Each special character becomes a `?`: a backslash before it made 2.1.197
 * refuse every file.
 */
export function literalPattern(path: string): string {
  return path.replace(/[\\*?[\]]/gu, "?").replace(/[()]/gu, "\\$&");
}
