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
 * What `--setting-sources` lets Claude Code read: settings, and of MCP servers the user's, those of `.mcp.json` and
 * those that the user added to a project, in this order (2.1.330).
 *
 * @param value names with commas between them; everything when the flag was not given
 */
export function settingSources(value: string | undefined): ReadonlySet<SettingSource> {
  if (value === undefined) return new Set(ALL);
  const names = value.split(",").map((name) => name.trim());
  return new Set(ALL.filter((source) => names.includes(source)));
}

/** Whose settings they are: the user's, a project's two files, those of `--settings`, or an administrator's. */
export type SettingsSource = SettingSource | "flags" | "managed";

/** One object of settings. */
export interface Settings {
  readonly source: SettingsSource;
  readonly values: JsonObject;
}

/** Where an administrator puts settings for everybody on Linux: a file, and files beside it that add to it. */
const MANAGED = "/etc/claude-code";

/** Claude Code reads no settings file that is larger, in bytes (2.1.330). */
const MAX_BYTES = 2_097_152;

/** All that one file or flag says. */
export interface SettingsDocument extends Settings, ParsedSettings {
  /** How Claude Code names it: the path of a file, or the flag. */
  readonly name: string;
}

/**
 * The settings that Claude Code reads for a run, in the order in which later ones override earlier ones, without what it
 * does not look at: files of folders above the working directory, and sources that `--setting-sources` leaves out
 * (2.1.330).
 *
 * @param options.projectRoot the working directory, or what stands in its place
 * @param options.home the user's home folder
 * @param options.userDir the user's config dir
 * @param options.sources those that `--setting-sources` leaves
 * @param options.flags what `--settings` holds
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

/** Those settings of which Claude Code takes something. */
export function soundSettings(documents: readonly SettingsDocument[]): readonly SettingsDocument[] {
  return documents.filter(({ faults }) => faults.length === 0);
}

/** What a settings file says, undefined where there is none or nothing in it: only then nothing has to judge it. */
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

/** What settings hold, but for those of some sources. */
export function valuesOf(
  settings: readonly Settings[],
  { without = [] }: { readonly without?: readonly SettingsSource[] } = {},
): readonly JsonObject[] {
  return settings.filter(({ source }) => !without.includes(source)).map(({ values }) => values);
}

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
