import { tryReadText } from "../../../ffi/files/regular_file.ts";
import { upFrom } from "../../paths.ts";
import { readJsonObject } from "../read_json_object.ts";
import { asText, isJsonObject, type JsonObject } from "../../json_object.ts";

/** Where skills and custom commands come from. */
export interface CommandPlaces {
  /** The project's folder: `.claude` in it and in every folder above it, which is at least what Claude Code reads. */
  readonly projectRoot: string;
  /** The user's config dir. */
  readonly configDir: string;
  /** The folders of `--add-dir`. */
  readonly addDirs: readonly string[];
  /** The folders of the plugins. */
  readonly plugins: readonly string[];
}

/**
 * Who may use a command: a prompt and the model, or the model alone. What is `forked` is for both, and a subagent carries
 * it out, for which nothing asks Claude Code to wait.
 */
export type CustomCommand = "invocable" | "forked" | "model-only";

/** Where an administrator puts skills and commands for everybody on Linux. */
const MANAGED = "/etc/claude-code/.claude";

/** The largest file that Claude Code takes for a skill, in bytes. */
const LIMIT = 1_048_576;

/** How many entries of folders are looked at, and how deep: whoever has more has them named by their files. */
const MOST_ENTRIES = 5000;
const DEEPEST = 8;

/**
 * Looks for the skill, custom command or workflow that answers to a name (2.1.330): `commands/a/b.md` is
 * `a:b`, `skills/a/SKILL.md` is `a`, a skill's frontmatter may give it another `name`, and so does the `meta` of a
 * workflow. What a plugin has is looked for by such a `name` alone: any other begins with the plugin's and a colon.
 *
 * What is found may not be loaded by Claude Code after all, for a mistake in it: then its name means nothing.
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
 * The names that skills and custom commands may have: those of the user and the project, and those of plugins, which
 * begin with the plugin's. A name of a file counts beside the one that its frontmatter gives.
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

/** Where skills and commands of an administrator, the user and the project may be. */
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

/** What a skill or command says of itself in front. */
interface Frontmatter {
  readonly name: string | undefined;
  readonly usable: CustomCommand;
}

/** The frontmatter of a skill or command; undefined for what is no such file. */
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

/** The name that a workflow's `meta` gives it, which stands at the beginning. */
function workflowName(path: string): string | undefined {
  if (!/\.[cm]?[jt]s$/u.test(path)) return undefined;
  const text = tryReadText(path, LIMIT) ?? "";
  const meta = text.indexOf("meta");
  return /\bname["']?\s*:\s*["'`]([^"'`]*)["'`]/u.exec(text.slice(meta, meta + 2000))?.[1];
}

/** Lists folders until so many entries have been listed; none for a folder that is not there. */
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

/**
 * The folders of the plugins that settings enable, as `plugins/installed_plugins.json` of the user's config dir tells
 * where they are (2.1.330).
 */
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
