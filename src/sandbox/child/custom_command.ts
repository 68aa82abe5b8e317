import { tryReadText } from "../../../ffi/files/regular_file.ts";
import { upFrom } from "../../paths.ts";
import { readJsonObject } from "../read_json_object.ts";
import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";

/** Where skills and custom commands are searched. */
export interface CommandPlaces {
  /** The project's folder. `.claude` in it and in every folder above it is searched, which is at least what Claude Code reads. */
  readonly projectRoot: string;
  /** The user's config dir. */
  readonly configDir: string;
  /** The folders of `--add-dir`. */
  readonly addDirs: readonly string[];
  /** The folders of the plugins. */
  readonly plugins: readonly string[];
}

/**
 * Who may use a command.
 *
 * - `invocable`: a prompt and the model
 * - `forked`: both too; a subagent in the background runs it
 * - `model-only`: the model
 */
export type CustomCommand = "invocable" | "forked" | "model-only";

/** The folder of an administrator's skills and commands on Linux. */
const MANAGED = "/etc/claude-code/.claude";

/** The maximum size of a skill that Claude Code reads, in bytes. */
const LIMIT = 1_048_576;

/**
 * The maximum number of folder entries that are searched, and the maximum depth. Beyond them, commands are found only
 * by the names of their files.
 */
const MOST_ENTRIES = 5000;
const DEEPEST = 8;

/**
 * Finds the skill, custom command or workflow with a name (2.1.330). `commands/a/b.md` is `a:b` and `skills/a/SKILL.md` is
 * `a`. A skill's frontmatter and a workflow's `meta` can give another `name`. Plugins are searched for such a `name` only;
 * all other names in a plugin begin with the plugin's name and a colon.
 *
 * Claude Code does not load a command that has a mistake in it. This function does not check that.
 */
export function findCustomCommand(
  name: string,
  { plugins, ...places }: CommandPlaces,
): CustomCommand | undefined {
  const roots = rootsOf(places);
  const parts = name.split(":");
  const isFile = parts.every((part) => !["", ".", ".."].includes(part) && !/[/\0]/u.test(part));
  for (const root of isFile ? roots : []) {
    const command = `${root}/commands/${parts.join("/")}`;
    const files = [`${command}.md`, `${command}/SKILL.md`, `${root}/skills/${name}/SKILL.md`];
    const found = files.map(frontmatterOf).find((each) => each !== undefined);
    if (found !== undefined) return found.usable;
  }
  const entriesOf = boundedReader(MOST_ENTRIES);
  const files = [
    ...[...roots, ...plugins].flatMap((root) => skillsOf(root, entriesOf)),
    ...plugins.flatMap((plugin) => markdownBelow(`${plugin}/commands`, entriesOf)),
  ];
  for (const file of files) {
    const found = frontmatterOf(file);
    if (found?.name === name) return found.usable;
  }
  const isWorkflow = roots.some((root) =>
    entriesOf(`${root}/workflows`).some((file) =>
      workflowName(`${root}/workflows/${file}`) === name
    )
  );
  return isWorkflow ? "invocable" : undefined;
}

/**
 * Lists the names that skills and custom commands can have: the user's and the project's, and those of plugins, which
 * begin with the plugin's name. Both the name of a file and the name in its frontmatter are listed.
 */
export function commandNames(
  { plugins, ...places }: CommandPlaces,
): { readonly own: readonly string[]; readonly ofPlugins: readonly string[] } {
  const entriesOf = boundedReader(MOST_ENTRIES);
  const namesIn = (root: string): readonly string[] =>
    [
      ...skillsOf(root, entriesOf).flatMap((file) => [
        file.split("/").at(-2) ?? "",
        frontmatterOf(file)?.name ?? "",
      ]),
      ...markdownBelow(`${root}/commands`, entriesOf).flatMap((file) => [
        file.slice(`${root}/commands/`.length).replace(/(?:\/SKILL)?\.md$/u, "").replaceAll(
          "/",
          ":",
        ),
        frontmatterOf(file)?.name ?? "",
      ]),
      ...entriesOf(`${root}/workflows`).map((file) =>
        workflowName(`${root}/workflows/${file}`) ?? ""
      ),
    ].filter((name) => name !== "");
  return {
    own: [...new Set(rootsOf(places).flatMap(namesIn))],
    ofPlugins: plugins.flatMap((plugin) => {
      const { name = plugin.split("/").at(-1) } =
        readJsonObject(`${plugin}/.claude-plugin/plugin.json`) ?? {};
      return [...new Set(namesIn(plugin))].map((each) => `${asText(name)}:${each}`);
    }),
  };
}

/**
 * The folders in which custom commands and skills are looked for: those of the administrator, of the user, and of the
 * project.
 */
function rootsOf(
  { projectRoot, configDir, addDirs }: Omit<CommandPlaces, "plugins">,
): readonly string[] {
  const projects = [...addDirs, ...upFrom(projectRoot)].map((dir) => `${dir}/.claude`);
  return [MANAGED, configDir, ...projects];
}

function skillsOf(root: string, entriesOf: ReturnType<typeof boundedReader>): readonly string[] {
  return entriesOf(`${root}/skills`).map((skill) => `${root}/skills/${skill}/SKILL.md`);
}

function markdownBelow(
  dir: string,
  entriesOf: ReturnType<typeof boundedReader>,
  depth = 0,
): readonly string[] {
  return depth > DEEPEST
    ? []
    : entriesOf(dir).flatMap((entry) =>
      entry.endsWith(".md")
        ? [`${dir}/${entry}`]
        : markdownBelow(`${dir}/${entry}`, entriesOf, depth + 1)
    );
}

/** The fields of a skill's or command's frontmatter that are used here. */
interface Frontmatter {
  readonly name: string | undefined;
  readonly usable: CustomCommand;
}

/** Reads the frontmatter of a skill or command; undefined if there is no such file. */
function frontmatterOf(path: string): Frontmatter | undefined {
  const text = tryReadText(path, LIMIT);
  if (text === undefined) return undefined;
  const [, block = ""] = /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)\r?\n---/u.exec(text) ?? [];
  const [, name] = /^name[ \t]*:(.*)$/mu.exec(block) ?? [];
  const isHidden = /^user[-_]?invocable[ \t]*:[ \t]*["']?false\b/imu.test(block);
  const isForked = /^context[ \t]*:[ \t]*["']?fork\b/mu.test(block) &&
    !/^background[ \t]*:[ \t]*["']?false\b/imu.test(block);
  return {
    name: name?.trim().replace(/^(["'])(.*)\1$/u, "$2"),
    usable: isHidden ? "model-only" : isForked ? "forked" : "invocable",
  };
}

/** Reads the name in a workflow's `meta`, which is at the beginning of the file. */
function workflowName(path: string): string | undefined {
  if (!/\.[cm]?[jt]s$/u.test(path)) return undefined;
  const text = tryReadText(path, LIMIT) ?? "";
  const meta = text.indexOf("meta");
  return /\bname["']?\s*:\s*["'`]([^"'`]*)["'`]/u.exec(text.slice(meta, meta + 2000))?.[1];
}

/** Returns a function that lists folders, up to a total number of entries. A missing folder is empty. */
function boundedReader(most: number): (dir: string) => readonly string[] {
  let left = most;
  return (dir) => {
    const names: string[] = [];
    try {
      for (const { name } of Deno.readDirSync(dir)) {
        if (left <= 0) break;
        left--;
        names.push(name);
      }
    } catch {
      // There is no such folder.
    }
    return names;
  };
}

/** Lists the folders of the plugins that settings enable, from `plugins/installed_plugins.json` of the user's config dir (2.1.330). */
export function pluginDirs(
  configDir: string,
  { settings }: { readonly settings: readonly JsonObject[] },
): readonly string[] {
  const enabled = new Set(
    settings.flatMap(({ enabledPlugins }) =>
      isJsonObject(enabledPlugins)
        ? Object.keys(enabledPlugins).filter((id) => enabledPlugins[id] !== false)
        : []
    ),
  );
  if (enabled.size === 0) return [];
  const installed = readJsonObject(`${configDir}/plugins/installed_plugins.json`)?.["plugins"];
  return Object.entries(isJsonObject(installed) ? installed : {})
    .filter(([id]) => enabled.has(id))
    .flatMap(([, installs]) => Array.isArray(installs) ? installs : [])
    .map((install: unknown) => isJsonObject(install) ? install["installPath"] : undefined)
    .filter((path) => typeof path === "string");
}
