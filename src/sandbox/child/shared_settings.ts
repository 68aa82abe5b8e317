import type { Environment } from "../environment.ts";
import { mainCheckout } from "./git_repository.ts";
import { realPath } from "../paths.ts";
import { runGit } from "./run_git.ts";

const ARGS = ["ls-files", "--error-unmatch", "--", ":(icase).claude/settings.local.json"];

/**
 * Whether Claude Code takes a folder's local settings for a repository's, which come with it, and not for the user's own:
 * git tracks them, or they are reached by a link (2.1.197 and 2.1.330). Where git says that it cannot tell, they are a
 * repository's too.
 *
 * @param options.isOlder whether this Claude Code is older than 2.1.330: it looks at the working directory alone, makes no
 * exception for the user's own config dir, and takes them for a repository's where there is none
 * @param options.isAlone whether there are none of a main checkout beside them
 */
export async function areSharedSettings(
  projectRoot: string,
  options: {
    readonly env: Environment;
    readonly userDir: string;
    readonly isOlder: boolean;
    readonly isAlone: boolean;
  },
): Promise<boolean> {
  const { env, userDir, isOlder, isAlone } = options;
  if (isOlder) {
    return isReachedByLink(projectRoot) || await isTracked(projectRoot, { env, otherwise: true });
  }
  const home = env["HOME"];
  const main = isAlone ? undefined : mainCheckout(projectRoot, { home });
  for (const folder of new Set([projectRoot, main ?? projectRoot])) {
    const isUsers = userDir === `${folder}/.claude` ||
      (home !== undefined && realPath(home) === realPath(folder));
    if (isUsers) continue;
    if (isReachedByLink(folder) || await isTracked(folder, { env, otherwise: false })) return true;
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

/** @param options.otherwise what it is where there is no repository */
async function isTracked(
  folder: string,
  { env, otherwise }: { readonly env: Environment; readonly otherwise: boolean },
): Promise<boolean> {
  const answer = await runGit(ARGS, { cwd: folder, env });
  if (answer === undefined) return false;
  const { code, stderr } = answer;
  if (code === 1) return false;
  return stderr.startsWith("fatal: not a git repository (or") ? otherwise : true;
}
