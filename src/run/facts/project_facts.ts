import { fileAt } from "../../../ffi/files/at_path.ts";
import { CliError } from "../../cli_error.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";
import { gitRoot, worktreesOf } from "../../sandbox/child/git_repository.ts";
import {
  type Settings,
  type SettingSource,
  settingSources,
} from "../../sandbox/child/read_settings.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { absolutePath, realPath, upFrom } from "../../paths.ts";
import type { Distrust, InstructionFiles, ProjectSource } from "../plan/plan_facts.ts";
import type { RunOrder } from "../plan/run_order.ts";

/** The places of a run's settings, servers and agents. */
export interface Places {
  readonly projectRoot: string;
  /** The root of the working directory's git repository, or the working directory itself. */
  readonly root: string;
  /** The user's config dir. */
  readonly userDir: string;
  /** Real paths of the added directories. */
  readonly addedDirs: readonly string[];
  readonly sources: ReadonlySet<SettingSource>;
  /** Whether `--project-config-root` names the project: it has no main checkout and no scheduled prompts. */
  readonly isAlone: boolean;
}

export function placesOf(order: RunOrder, userDir: string): Places {
  const { cwd, addDirs } = order;
  return {
    projectRoot: projectRootOf(order),
    root: gitRoot(cwd) ?? cwd,
    userDir,
    addedDirs: addDirs.map((dir) => realPath(absolutePath(dir, cwd))),
    sources: settingSources(order.settingSources),
    isAlone: order.projectConfigRoot !== undefined,
  };
}

/**
 * The folder whose settings, MCP servers, skills, commands, agents, output styles and workflows are the project's: the
 * value of `--project-config-root` (2.1.330), or the working directory. Instructions, git, trust, writable folders and
 * the session always belong to the working directory.
 *
 * @throws {CliError} when it is not a folder. Claude Code reports this only on its screen
 */
export function projectRootOf(
  { projectConfigRoot: named, cwd }: Pick<RunOrder, "projectConfigRoot" | "cwd">,
): string {
  if (named === undefined) return cwd;
  // Claude Code reads two leading slashes as the name of a machine.
  if (!/^\/(?!\/)/u.test(named)) throw rootError(`"${named}" is not an absolute local path`);
  try {
    Deno.readDirSync(named);
    return Deno.realPathSync(named);
  } catch (cause) {
    throw rootError(`${named} is not a folder that you can list`, cause);
  }
}

function rootError(why: string, cause?: unknown): CliError {
  return new CliError(`Cannot honour --project-config-root: ${why}`, {
    suggestion: "Name an existing folder by its path from the root, or leave it out",
    cause,
  });
}

/**
 * The maximum number of folders that are searched for AGENTS.md. A longer search would take more time than the plugin
 * that reads it.
 */
const MAX_FOLDERS = 64;
const MAX_NAMES = 2000;

/** Looks for CLAUDE.md and AGENTS.md in the places that Claude Code reads (2.1.330). */
export function instructionFiles(
  cwd: string,
  { root, projectRoot, userDir, sources }: Pick<
    Places,
    "root" | "projectRoot" | "userDir" | "sources"
  >,
): InstructionFiles {
  const claude = sources.has("project") && isFilledFile(`${root}/CLAUDE.md`);
  const hasAgentsAbove = upFrom(cwd).some((dir) => hasAny(dir, ["AGENTS.md", ".claude/AGENTS.md"]));
  const configDirs = [userDir, ...upFrom(projectRoot).map((dir) => `${dir}/.claude`)];
  return {
    claude,
    agents: hasAgentsAbove || (!claude && mayHaveAgentsBelow(root)),
    skills: configDirs.some((dir) => hasAny(dir, ["agents", "commands", "skills"])),
  };
}

function hasAny(dir: string, names: readonly string[]): boolean {
  return names.some((name) => fileAt(`${dir}/${name}`) !== undefined);
}

function mayHaveAgentsBelow(root: string): boolean {
  const folders = [root];
  let names = 0;
  for (let at = 0; at < folders.length; at++) {
    if (at >= MAX_FOLDERS) return true;
    try {
      for (const { name, isDirectory, isSymlink } of Deno.readDirSync(`${folders[at]}`)) {
        // Links are not followed, so their folders may have an AGENTS.md.
        if (++names > MAX_NAMES || name === "AGENTS.md" || isSymlink) return true;
        if (isDirectory && name !== ".git") folders.push(`${folders[at]}/${name}`);
      }
    } catch {
      return true;
    }
  }
  return false;
}

function isFilledFile(path: string): boolean {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    return isFile && size > 0;
  } catch {
    return false;
  }
}

/**
 * Finds project settings whose permissions Claude Code ignores: the user has not trusted the folder, and the settings are
 * not the user's own. Git is asked only if there are such permissions.
 *
 * @param options.claudeJson the user's own `.claude.json`
 */
export async function distrustOf(
  settings: readonly Settings[],
  { order: { cwd, env }, places, claudeJson }: {
    readonly order: Pick<RunOrder, "cwd" | "env">;
    readonly places: Pick<Places, "projectRoot" | "userDir" | "isAlone">;
    readonly claudeJson: JsonObject | undefined;
  },
): Promise<Distrust | undefined> {
  const { projectRoot, isAlone, userDir } = places;
  if (!settings.some(({ source }) => source === "project" || source === "local")) return undefined;
  const { needsTrust } = await import("../plan/warnings.ts");
  const found = (["project", "local"] as const).filter((source) => needsTrust(settings, source));
  if (found.length === 0) return undefined;
  const [folder = cwd] = worktreesOf(cwd);
  const projects = isJsonObject(claudeJson?.["projects"]) ? claudeJson["projects"] : {};
  const project = projects[folder];
  if (isJsonObject(project) && project["hasTrustDialogAccepted"] === true) return undefined;
  const { areSharedSettings } = await import("../../sandbox/child/git_repository.ts");
  const sources: ProjectSource[] = [];
  for (const source of found) {
    const isForeign = source === "project"
      ? userDir !== `${projectRoot}/.claude`
      : await areSharedSettings(projectRoot, { env, userDir, isAlone });
    if (isForeign) sources.push(source);
  }
  return { folder, sources };
}

/** The programs of Claude Code's own sandbox on Linux, and their packages. */
const SANDBOX_PROGRAMS = { bwrap: "bubblewrap", socat: "socat" } as const;

/**
 * The packages that Claude Code's own sandbox lacks. If any is missing, Claude Code runs commands without the sandbox,
 * and reports this only on its screen (2.1.330).
 *
 * @param settings later ones override earlier ones
 * @returns undefined if settings do not ask for a sandbox
 * @throws {CliError} when settings require the sandbox, because Claude Code would end during the turn without an error
 */
export function sandboxLackOf(
  settings: readonly JsonObject[],
  { PATH = "" }: Environment,
): readonly string[] | undefined {
  const isOn = (name: string) =>
    settings.map(({ sandbox }) => isJsonObject(sandbox) ? sandbox[name] : undefined)
      .findLast((value) => typeof value === "boolean") === true;
  if (!isOn("enabled")) return undefined;
  const folders = PATH.split(":").filter((dir) => dir.startsWith("/"));
  const missing = Object.entries(SANDBOX_PROGRAMS).flatMap(([program, name]) =>
    folders.some((dir) => hasAny(dir, [program])) ? [] : [name]
  );
  if (missing.length > 0 && isOn("failIfUnavailable")) {
    throw new CliError(
      `Cannot start claude: settings require its sandbox, which takes ${missing.join(" and ")}`,
      { suggestion: `Install ${missing.join(" and ")}, or set sandbox.failIfUnavailable to false` },
    );
  }
  return missing;
}
