import { mainCheckout } from "./git_repository.ts";
import { namesIn } from "../on_disk.ts";
import { readJsonObject } from "../read_json_object.ts";
import { isJsonObject, type JsonObject } from "../../transcript/json_object.ts";

/** A source of settings that `--setting-sources` may leave out. */
export type SettingSource = "user" | "project" | "local";

const ALL: readonly SettingSource[] = ["user", "project", "local"];

/**
 * What `--setting-sources` lets Claude Code read: settings, and of MCP servers the user's, those of `.mcp.json` and
 * those that the user added to a project, in this order (2.1.197 and 2.1.330).
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

/**
 * The settings that Claude Code reads for a run, in the order in which later ones override earlier ones, and nothing
 * that it leaves alone: files of folders above the working directory, sources that `--setting-sources` leaves out,
 * files that are no regular ones, too large, no JSON, or name a permission mode that there is not (2.1.197 and 2.1.330).
 *
 * @param options.home the user's home folder
 * @param options.userDir the user's config dir
 * @param options.sources those that `--setting-sources` leaves
 * @param options.flags what `--settings` holds
 * @param options.sharesLocal whether this Claude Code reads local settings of the main checkout too, as 2.1.330 does and
 * 2.1.197 does not; asked only where there are some
 */
export async function readSettings(options: {
  readonly cwd: string;
  readonly home: string | undefined;
  readonly userDir: string;
  readonly sources: ReadonlySet<SettingSource>;
  readonly flags?: JsonObject | undefined;
  readonly sharesLocal: () => Promise<boolean>;
}): Promise<readonly Settings[]> {
  const { cwd, home, userDir, sources, flags } = options;
  const found: Settings[] = [];
  const add = (source: SettingsSource, values: JsonObject | undefined) => {
    if (values !== undefined && areSoundSettings(values)) found.push({ source, values });
  };
  const read = (path: string) => readJsonObject(path, { limit: MAX_BYTES });
  if (sources.has("user")) add("user", read(`${userDir}/settings.json`));
  if (sources.has("project")) add("project", read(`${cwd}/.claude/settings.json`));
  if (sources.has("local")) {
    add("local", read(`${cwd}/.claude/settings.local.json`));
    const main = mainCheckout(cwd, { home });
    const shared = main === undefined ? undefined : read(`${main}/.claude/settings.local.json`);
    if (shared !== undefined && await options.sharesLocal()) add("local", shared);
  }
  add("flags", flags);
  for (const path of managedFiles()) add("managed", read(path));
  return found;
}

function managedFiles(): readonly string[] {
  const folder = `${MANAGED}/managed-settings.d`;
  const added = namesIn(folder).filter((name) => name.endsWith(".json")).toSorted();
  return [`${MANAGED}/managed-settings.json`, ...added.map((name) => `${folder}/${name}`)];
}

/** Values of `permissions.defaultMode`; "manual" is another name for "default". */
const MODES: readonly unknown[] = [
  ...["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"],
  undefined,
];

/**
 * Whether Claude Code takes settings for what they say of permissions: with a mode that there is not, or without a list
 * where one should be, it drops all that stands beside it too (2.1.197 and 2.1.330).
 */
export function areSoundSettings({ permissions }: JsonObject): boolean {
  if (permissions === undefined) return true;
  if (!isJsonObject(permissions) || !MODES.includes(permissions["defaultMode"])) return false;
  const { allow = [], additionalDirectories: dirs = [] } = permissions;
  return Array.isArray(allow) && Array.isArray(dirs) &&
    dirs.every((dir) => typeof dir === "string");
}

/** What settings hold, but for those of some sources. */
export function valuesOf(
  settings: readonly Settings[],
  { without = [] }: { readonly without?: readonly SettingsSource[] } = {},
): readonly JsonObject[] {
  return settings.filter(({ source }) => !without.includes(source)).map(({ values }) => values);
}
