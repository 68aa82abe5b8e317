import { readRegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { CliError } from "../../cli_error.ts";
import type { SettingsDocument } from "./read_settings.ts";
import { absolutePath, wholePath } from "../../paths.ts";

/** The maximum size of a `--settings` file, in bytes. Claude Code reads 2 MiB (2.1.330), and our settings are added. */
const MAX_BYTES = 2_000_000;

/** Claude Code's name for settings that are JSON on the command line. */
const INLINE = "--settings (inline JSON)";

/**
 * Reads the caller's `--settings`, JSON or the path of a file, as `claude -p` does; comments are allowed. A file that
 * Claude Code would ignore does not end the run.
 *
 * @param options.cwd the folder that a relative path starts from
 * @throws {CliError} if JSON on the command line is invalid, or the file cannot be read
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

/** Parses JSON, with comments if need be. The native parser comes first, because it has no limit of depth. */
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
      ...(isMissing ? { failedBeforeStart: true } : {}),
    });
  }
}

/** The settings that claude-print adds to those of a run. */
export interface OwnSettings {
  readonly hooks: JsonObject;
  readonly memoryPath: string;
  /** The status line that reports the child's cost. */
  readonly statusLine?: JsonObject;
  /** Claude Code's own plugins that the run does not need, by id. */
  readonly plugins?: JsonObject;
  /** Tools of ours that need no permission. */
  readonly allow?: readonly string[];
  /** Whether the caller answers permission requests. */
  readonly asksCaller: boolean;
  /** Folders that no tool may read or write, in the Bash sandbox or outside. */
  readonly outOfReach: readonly string[];
  /** Further ones as patterns of rules, for folders that do not exist yet. */
  readonly outOfReachPatterns?: readonly string[];
  /** Folders that no command in the Bash sandbox may write to. */
  readonly readOnly: readonly string[];
  /** Folders that no command in the Bash sandbox sees, and the exceptions in them. */
  readonly hidden: { readonly folders: readonly string[]; readonly but: readonly string[] };
}

/**
 * Returns the settings of a run: the caller's, with our hooks and rules added. (Measured with 2.1.330.)
 *
 * - `permissions.deny`: Claude Code applies it before all modes, rules and hooks that allow. The Bash sandbox gets the same
 *   folders
 * - `denyInsteadOfPrompting` makes Claude Code deny what only a person at the screen can allow, where it does not call our
 *   PermissionRequest hook: in auto mode and plan mode without the API's safety check. It also hides the tools that ask a
 *   person, so it is not set for a caller that answers questions and plans
 * - `disableAllHooks: false` overrides a project that would disable our hooks
 * - `enableAllProjectMcpServers`: `claude -p` starts a project's servers without asking, whatever the caller's settings are
 * - `autoMemoryDirectory` is the user's folder. Its path is in the system prompt, so a different one for each run would
 *   miss the API's cache
 * - `workflowKeywordTriggerEnabled: false`: the word "ultracode" in a prompt starts nothing, as in `claude -p`
 * - without animations and tips that change, a child that waits prints nothing and takes no processor time
 * - with a tip of our own, Claude Code does not search for fitting ones. It would start `ps` and others at each start
 * - Claude Code's own plugins that the run does not need are disabled, unless the caller names them
 * - the rest prevents dialogs and a desktop file
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
 * Returns the rules that let tools read the long outputs which an earlier run of the session has stored in the user's
 * config dir. Claude Code allows that by itself in its own config dir only. Empty if a path has characters that are special
 * in a rule.
 */
export function readingRules(
  { userConfigDir, session }: { readonly userConfigDir: string; readonly session: string },
): readonly string[] {
  const isPlain = /^[\w./@+~-]+$/u.test(userConfigDir) && /^[\w-]+$/u.test(session);
  return isPlain ? [`Read(/${userConfigDir}/projects/*/${session}/tool-results/**)`] : [];
}

/** Merges two values as Claude Code merges the settings of two files. If the types differ, ours is taken. */
function merge(ours: unknown, theirs: unknown): unknown {
  if (Array.isArray(ours)) return Array.isArray(theirs) ? [...ours, ...theirs] : ours;
  if (!isJsonObject(ours) || !isJsonObject(theirs)) return ours;
  const merged = Object.entries(ours).map(([name, value]) => [name, merge(value, theirs[name])]);
  return { ...theirs, ...Object.fromEntries(merged) };
}

/** The pattern for everything in a folder. */
function patternOf(folder: string): string {
  return `/${literalPattern(folder)}/**`;
}

/** Tools whose rules are about files. */
const OF_FILES = [
  ...["Cd", "Edit", "Glob", "MultiEdit", "NotebookEdit", "NotebookRead", "Read", "Write"],
];

/** A rule whose path is relative to the settings file: it has one slash. Two slashes are absolute, none is relative to the run. */
const BESIDE_SETTINGS = /^(\s*(\w+)\()\/(?!\/)([^]*)\)([^)]*)$/u;

/**
 * Makes the paths of settings absolute: those for the Bash sandbox, and those of rules that are relative to the settings
 * file. Claude Code resolves them from the folder of the settings (2.1.330), and the user's and the caller's settings are
 * copied to the private folder. There `allowWrite: [".."]` and `Edit(/**)` would open the private folder to commands.
 *
 * @param folder the folder from which `claude -p` resolves paths for the Bash sandbox
 * @param options.rulesFrom the folder from which it resolves rules; absent for settings on the command line, whose rules
 * that allow something there are removed
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
 * Returns a path as a pattern of Claude Code's rules. Each special character becomes a `?`: with a backslash before it,
 * 2.1.197 refused every file.
 */
export function literalPattern(path: string): string {
  return path.replace(/[\\*?[\]]/gu, "?").replace(/[()]/gu, "\\$&");
}
