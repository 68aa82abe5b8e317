import { namesIn } from "../../../ffi/files/at_path.ts";
import { readRegularFile, UnfitFileError } from "../../../ffi/files/regular_file.ts";
import { mainCheckout } from "./git_repository.ts";
import type { ParsedSettings } from "../../claude/settings/settings_faults.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { UnsupportedError } from "../../cli_error.ts";

/** A source of settings that `--setting-sources` may leave out. */
export type SettingSource = "user" | "project" | "local";

const ALL: readonly SettingSource[] = ["user", "project", "local"];

/**
 * Parses `--setting-sources`: from which sources Claude Code reads settings and MCP servers (2.1.330).
 *
 * @param value names with commas between them; all sources if the flag was not given
 */
export function settingSources(value: string | undefined): ReadonlySet<SettingSource> {
  if (value === undefined) return new Set(ALL);
  const names = value.split(",").map((name) => name.trim());
  return new Set(ALL.filter((source) => names.includes(source)));
}

/** The user's settings, a project's two files, `--settings`, or an administrator's settings. */
export type SettingsSource = SettingSource | "flags" | "managed";

/** One object of settings. */
export interface Settings {
  readonly source: SettingsSource;
  readonly values: JsonObject;
}

/** The folder of an administrator's settings on Linux: a file, and a folder of files that add to it. */
const MANAGED = "/etc/claude-code";

/** The maximum size of a settings file that Claude Code reads, in bytes (2.1.330). */
const MAX_BYTES = 2_097_152;

/** The settings of one file or flag, and what is wrong with them. */
export interface SettingsDocument extends Settings, ParsedSettings {
  /** Claude Code's name for it: the path of the file, or the flag. */
  readonly name: string;
}

/**
 * Reads the settings that Claude Code reads for a run (2.1.330). Later ones override earlier ones. Folders above the
 * working directory are not searched.
 *
 * @param options.projectRoot the folder whose `.claude` is read, usually the working directory
 * @param options.home the user's home folder
 * @param options.userDir the user's config dir
 * @param options.sources see `settingSources`
 * @param options.flags the content of `--settings`
 * @param options.sharesLocal whether local settings of the main checkout are read too
 */
export async function readSettings(options: {
  readonly projectRoot: string;
  readonly home: string | undefined;
  readonly userDir: string;
  readonly sources: ReadonlySet<SettingSource>;
  readonly flags?: SettingsDocument | undefined;
  readonly sharesLocal: boolean;
}): Promise<readonly SettingsDocument[]> {
  const { projectRoot, home, userDir, sources, flags } = options;
  const found: SettingsDocument[] = [];
  const add = async (source: SettingsSource, path: string) => {
    const judged = await readJudged(path);
    if (judged !== undefined) found.push({ source, name: path, ...judged });
  };
  if (sources.has("user")) await add("user", `${userDir}/settings.json`);
  if (sources.has("project")) await add("project", `${projectRoot}/.claude/settings.json`);
  if (sources.has("local")) {
    await add("local", `${projectRoot}/.claude/settings.local.json`);
    const main = mainCheckout(projectRoot, { home });
    const path = `${main}/.claude/settings.local.json`;
    if (main !== undefined && options.sharesLocal) await add("local", path);
  }
  if (flags !== undefined) found.push(flags);
  for (const path of managedFiles()) await add("managed", path);
  return found;
}

/** Returns the settings that Claude Code accepts. It ignores a document with a fault. */
export function soundSettings(documents: readonly SettingsDocument[]): readonly SettingsDocument[] {
  return documents.filter(({ faults }) => faults.length === 0);
}

/** Reads and checks a settings file; undefined if it is missing or empty. */
async function readJudged(path: string): Promise<ParsedSettings | undefined> {
  let text: string;
  try {
    text = new TextDecoder().decode(readRegularFile(path, { limit: MAX_BYTES }));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (!(error instanceof UnfitFileError)) throw error;
    const { unreadableSettings } = await import("../../claude/settings/settings_faults.ts");
    return unreadableSettings(`Settings file could not be read: ${error.reason}`);
  }
  if (text.trim() === "") return undefined;
  const { readSettingsText } = await import("../../claude/settings/settings_faults.ts");
  return readSettingsText(text);
}

function managedFiles(): readonly string[] {
  const folder = `${MANAGED}/managed-settings.d`;
  const added = namesIn(folder).filter((name) => name.endsWith(".json")).toSorted();
  return [`${MANAGED}/managed-settings.json`, ...added.map((name) => `${folder}/${name}`)];
}

/** Returns the values of all settings except those of some sources. */
export function valuesOf(
  settings: readonly Settings[],
  { without = [] }: { readonly without?: readonly SettingsSource[] } = {},
): readonly JsonObject[] {
  return settings.filter(({ source }) => !without.includes(source)).map(({ values }) => values);
}

/** Whether a settings object disables all hooks. */
export function silencesHooks(settings: readonly JsonObject[]): boolean {
  return settings.some(({ disableAllHooks }) => disableAllHooks === true);
}

/**
 * Refuses a run with `disableAllHooks` whose other hooks cannot be disabled. claude-print needs its own hooks, which are
 * then a plugin's, and Claude Code runs the hooks of all plugins or of none.
 *
 * @param settings every settings object that applies to the run
 * @param options.hasPlugins whether the command line names plugins
 * @param options.isManaged whether an administrator has settings. If so, Claude Code ignores settings of the command line
 * that disable other hooks
 * @throws {UnsupportedError} if there may be such a hook
 */
export function refuseSilencedHooks(
  settings: readonly JsonObject[],
  { hasPlugins, isManaged }: { readonly hasPlugins: boolean; readonly isManaged: boolean },
): void {
  if (!silencesHooks(settings)) return;
  const plugins = hasPlugins || settings.some(({ enabledPlugins }) => isFilled(enabledPlugins));
  if (!plugins && !isManaged) return;
  throw new UnsupportedError(
    `Cannot honour "disableAllHooks" together with ${
      plugins ? "plugins" : "settings of an administrator"
    }: claude-print needs its own hooks, and the others would run too`,
    { suggestion: "Remove one of them, or use claude -p" },
  );
}

function isFilled(value: unknown): boolean {
  return isJsonObject(value) && Object.keys(value).length > 0;
}

/**
 * Whether a hook other than ours may run at an event. A Stop hook can continue the turn, a SessionEnd hook can take time,
 * and a UserPromptSubmit hook can block a prompt.
 *
 * True when in doubt: a wrong yes costs some time, a wrong no would cut a turn short. Plugins count, because they can have
 * hooks.
 *
 * @param settings every settings object that applies to the run, without hooks that Claude Code does not read
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
 * Whether a hook watches changes of the model (2.1.330). Claude Code calls it when a running child changes its model, but
 * not when a child starts with another one.
 *
 * @param settings every settings object that applies to the run, without hooks that Claude Code does not read
 */
export function watchesModels(settings: readonly JsonObject[]): boolean {
  return settings.some(({ hooks }) =>
    isJsonObject(hooks) && ["PreModelSwitch", "PostModelSwitch"].some((event) => event in hooks)
  );
}

/** Settings that start a program for the screen. `claude -p` ignores them. */
export const SCREEN_COMMANDS = ["statusLine", "subagentStatusLine", "fileSuggestion"] as const;

/** A command that does nothing. No value means "none" (2.1.330). */
const NOTHING = { type: "command", command: "" };

/**
 * The same for subagents. 2.1.332 shows a line that the setting is deprecated, but not for a command with this variable,
 * which only a plugin's own setting may use: it does not run such a command. 2.1.285 runs it, and `:` does nothing.
 */
const NOTHING_FOR_SUBAGENTS = { type: "command", command: ": ${CLAUDE_PLUGIN_ROOT}" };

/**
 * Overrides all settings that start a program for the screen. `claude -p` does not start a project's status line, so a
 * project must not get it started here. They are overridden even if the project has none now, because Claude Code reads
 * changed settings again, for example after a checkout of another branch.
 */
export function withoutScreenCommands(caller: JsonObject): JsonObject {
  const disabled = SCREEN_COMMANDS.map((name) => [name, NOTHING]);
  return {
    ...caller,
    ...Object.fromEntries(disabled),
    subagentStatusLine: NOTHING_FOR_SUBAGENTS,
  };
}
