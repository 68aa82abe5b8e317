import { CliError } from "../../cli_error.ts";
import type { RunOrder } from "../plan/run_order.ts";
import { fileAt } from "../../../ffi/files/at_path.ts";
import type { Distrust, InstructionFiles, ProjectSource } from "../plan/plan_facts.ts";
import { upFrom } from "../../sandbox/paths.ts";
import { worktreesOf } from "../../sandbox/child/git_repository.ts";
import type { Settings } from "../../sandbox/child/read_settings.ts";
import type { Environment } from "../../sandbox/environment.ts";
import { isJsonObject, type JsonObject } from "../../json_object.ts";

/**
 * The folder whose settings, MCP servers, skills, commands, agents, output styles and workflows are the project's: that
 * of `--project-config-root` (2.1.330), else the working directory. Whatever else belongs to a project stays where the
 * working directory is: instructions, git, trust, what tools may write to, and the session.
 *
 * @throws {CliError} when it is no folder, which Claude Code says on its screen alone
 */
export function projectRootOf(
  { projectConfigRoot: named, cwd }: Pick<RunOrder, "projectConfigRoot" | "cwd">,
): string {
  if (named === undefined) return cwd;
  // To Claude Code two slashes begin the name of a machine.
  if (!/^\/(?!\/)/u.test(named)) throw refusal(`"${named}" is not an absolute local path`);
  try {
    Deno.readDirSync(named);
    return Deno.realPathSync(named);
  } catch (cause) {
    throw refusal(`${named} is not a folder that you can list`, cause);
  }
}

function refusal(why: string, cause?: unknown): CliError {
  return new CliError(`Cannot honour --project-config-root: ${why}`, {
    suggestion: "Name an existing folder by its path from the root, or leave it out",
    cause,
  });
}

/** Most that is looked at below the root of a project: a larger one takes longer than is gained by it. */
const MAX_FOLDERS = 64;
const MAX_NAMES = 2000;

/**
 * Looks for CLAUDE.md and AGENTS.md where Claude Code does (2.1.330).
 *
 * @param options.root the root of the working directory's repository, else itself
 * @param options.projectRoot the folder in which, and above which, skills and commands are the project's
 * @param options.userDir the user's config dir
 * @param options.readsProject whether `--setting-sources` leaves the project's files in
 */
export function instructionFiles(
  { cwd, root, projectRoot, userDir, readsProject }: {
    readonly cwd: string;
    readonly root: string;
    readonly projectRoot: string;
    readonly userDir: string;
    readonly readsProject: boolean;
  },
): InstructionFiles {
  const claude = readsProject && isFilled(`${root}/CLAUDE.md`);
  return {
    claude,
    agents: isAbove(cwd) || (!claude && mayBeBelow(root)),
    skills: [userDir, ...upFrom(projectRoot).map((dir) => `${dir}/.claude`)].some((dir) =>
      ["agents", "commands", "skills"].some((name) => fileAt(`${dir}/${name}`) !== undefined)
    ),
  };
}

function isAbove(cwd: string): boolean {
  return upFrom(cwd).some((dir) =>
    ["AGENTS.md", ".claude/AGENTS.md"].some((name) => fileAt(`${dir}/${name}`) !== undefined)
  );
}

function mayBeBelow(root: string): boolean {
  const folders = [root];
  let names = 0;
  for (let at = 0; at < folders.length; at++) {
    if (at >= MAX_FOLDERS) return true;
    try {
      for (const { name, isDirectory, isSymlink } of Deno.readDirSync(`${folders[at]}`)) {
        // What lies behind a link counts, too.
        if (++names > MAX_NAMES || name === "AGENTS.md" || isSymlink) return true;
        if (isDirectory && name !== ".git") folders.push(`${folders[at]}/${name}`);
      }
    } catch {
      return true;
    }
  }
  return false;
}

function isFilled(path: string): boolean {
  try {
    const { isFile, size } = Deno.lstatSync(path);
    return isFile && size > 0;
  } catch {
    return false;
  }
}

/**
 * Why rules of a project do not count: the user has not trusted its folder, and they are not the user's own. Git is asked
 * only if there are such rules.
 *
 * @param options.projectRoot the folder whose settings are the project's
 * @param options.isAlone whether there are none of a main checkout beside them
 * @param options.claudeJson the user's own `.claude.json`
 */
export async function distrustOf(
  settings: readonly Settings[],
  options: {
    readonly cwd: string;
    readonly projectRoot: string;
    readonly isAlone: boolean;
    readonly env: Environment;
    readonly userDir: string;
    readonly claudeJson: JsonObject | undefined;
  },
): Promise<Distrust | undefined> {
  const { cwd, projectRoot, isAlone, env, userDir, claudeJson } = options;
  if (!settings.some(({ source }) => source === "project" || source === "local")) return undefined;
  const { needsTrust } = await import("../plan/warnings.ts");
  const found = (["project", "local"] as const).filter((source) => needsTrust(settings, source));
  if (found.length === 0) return undefined;
  const [folder = cwd] = worktreesOf(cwd);
  const projects = isJsonObject(claudeJson?.["projects"]) ? claudeJson["projects"] : {};
  const known = projects[folder];
  if (isJsonObject(known) && known["hasTrustDialogAccepted"] === true) return undefined;
  const { areSharedSettings } = await import("../../sandbox/child/shared_settings.ts");
  const sources: ProjectSource[] = [];
  for (const source of found) {
    const isForeign = source === "project"
      ? userDir !== `${projectRoot}/.claude`
      : await areSharedSettings(projectRoot, { env, userDir, isAlone });
    if (isForeign) sources.push(source);
  }
  return { folder, sources };
}

/** What Claude Code's own sandbox is made of on Linux: programs, and the packages that have them. */
const NEEDED = { bwrap: "bubblewrap", socat: "socat" } as const;

/**
 * The packages that Claude Code's own sandbox lacks: without any it carries commands out in there, else without it, as it
 * says on its screen alone (2.1.330).
 *
 * @param settings later ones overriding earlier ones
 * @returns undefined where settings do not ask for a sandbox
 * @throws {CliError} where it would end in the middle of the turn without a word, because settings require the sandbox
 */
export function sandboxLackOf(
  settings: readonly JsonObject[],
  { PATH = "" }: Environment,
): readonly string[] | undefined {
  const said = (name: string) =>
    settings.map(({ sandbox }) => isJsonObject(sandbox) ? sandbox[name] : undefined)
      .findLast((value) => typeof value === "boolean") === true;
  if (!said("enabled")) return undefined;
  const folders = PATH.split(":").filter((dir) => dir.startsWith("/"));
  const missing = Object.entries(NEEDED).flatMap(([name, pack]) =>
    folders.some((dir) => fileAt(`${dir}/${name}`) !== undefined) ? [] : pack
  );
  if (missing.length > 0 && said("failIfUnavailable")) {
    throw new CliError(
      `Cannot start claude: settings require its sandbox, which takes ${missing.join(" and ")}`,
      { suggestion: `Install ${missing.join(" and ")}, or set sandbox.failIfUnavailable to false` },
    );
  }
  return missing;
}
