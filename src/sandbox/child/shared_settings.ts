import type { Environment } from "../environment.ts";
import { mainCheckout } from "./git_repository.ts";
import { realPath } from "../paths.ts";
import { runGit } from "./run_git.ts";

const ARGS = ["ls-files", "--error-unmatch", "--", ":(icase).claude/settings.local.json"];

/**
 * Whether Claude Code takes a folder's local settings for a repository's, which come with it, and not for the user's own:
 * git tracks them, or they are reached by a link. Where git says that it cannot tell, they are a
 * repository's too.
 *
 * @param options.isAlone whether there are none of a main checkout beside them
 */
export async function areSharedSettings(
  projectRoot: string,
  options: {
    readonly env: Environment;
    readonly userDir: string;
    readonly isAlone: boolean;
  },
): Promise<boolean> {
  const { env, userDir, isAlone } = options;
  const home = env["HOME"];
  const main = isAlone ? undefined : mainCheckout(projectRoot, { home });
  for (const folder of new Set([projectRoot, main ?? projectRoot])) {
    const isUsers = userDir === `${folder}/.claude` ||
      (home !== undefined && realPath(home) === realPath(folder));
    if (isUsers) continue;
    if (isReachedByLink(folder) || await isTracked(folder, env)) return true;
  }
  return false;
}

function isReachedByLink(folder: string): boolean {
  const [dir, file] = [`${folder}/.claude`, `${folder}/.claude/settings.local.json`];
  return [dir, file].some((path) => statOf(path)?.isSymlink) ||
    statOf(`${dir}/.git`) !== undefined;
}

function statOf(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(path);
  } catch {
    return undefined;
  }
}

async function isTracked(folder: string, env: Environment): Promise<boolean> {
  const answer = await runGit(ARGS, { cwd: folder, env });
  if (answer === undefined) return false;
  const { code, stderr } = answer;
  if (code === 1) return false;
  return !stderr.startsWith("fatal: not a git repository (or");
}
