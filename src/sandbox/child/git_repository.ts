import { namesIn } from "../../../ffi/files/at_path.ts";
import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { absolutePath, parentOf } from "../paths.ts";

/** The files by which git finds a worktree, or the repository of one, hold a path each. */
const MAX_BYTES = 16_384;

/**
 * The root of the git repository, or of the worktree, that a folder is in: the nearest folder with a `.git` that is a
 * folder or a file.
 */
export function gitRoot(cwd: string): string | undefined {
  for (let dir = cwd; dir !== ""; dir = parentOf(dir)) {
    try {
      const { isDirectory, isFile } = Deno.statSync(`${dir}/.git`);
      if (isDirectory || isFile) return dir;
    } catch {
      // Not here; perhaps further up.
    }
  }
  return undefined;
}

/**
 * The folder in which Claude Code looks for a working directory's local settings too: the root of its git repository, of a
 * worktree that of the repository it belongs to.
 *
 * A root that others own is left out, as there: whoever can make a folder above must not give settings to all below.
 *
 * @param options.home the user's home folder, which is never taken for a root
 * @returns `undefined` when there is none but the working directory itself
 */
export function mainCheckout(
  cwd: string,
  { home }: { readonly home: string | undefined },
): string | undefined {
  const worktree = gitRoot(cwd);
  if (worktree === undefined) return undefined;
  try {
    const root = repositoryOf(worktree);
    if (root === cwd || home === undefined || root === Deno.realPathSync(home)) return undefined;
    return isOwn(root) ? root : undefined;
  } catch {
    // Who owns it, or what the home folder is, cannot be told.
    return undefined;
  }
}

/** Follows a worktree to its repository; whatever does not lead there and back is a repository of its own. */
export function repositoryOf(worktree: string): string {
  try {
    const [, link] = /^gitdir:(.*)$/su.exec(lineOf(`${worktree}/.git`)) ?? [];
    if (link === undefined) return worktree;
    const own = resolve(link.trim(), worktree);
    const common = resolve(lineOf(`${own}/commondir`), own);
    if (resolve("..", own) !== `${common}/worktrees`) return worktree;
    const back = Deno.realPathSync(resolve(lineOf(`${own}/gitdir`), own));
    if (back !== `${Deno.realPathSync(worktree)}/.git`) return worktree;
    return common.endsWith("/.git") ? common.slice(0, -"/.git".length) : common;
  } catch {
    // Its `.git` is a folder, or leads nowhere.
    return worktree;
  }
}

function isOwn(root: string): boolean {
  const uids = [Deno.statSync(root).uid, Deno.lstatSync(`${root}/.git`).uid];
  try {
    uids.push(Deno.lstatSync(`${root}/.claude`).uid);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return uids.every((uid) => uid === Deno.uid());
}

function lineOf(path: string): string {
  return new TextDecoder().decode(readRegularFile(path, { limit: MAX_BYTES })).trim();
}

function resolve(path: string, from: string): string {
  const names: string[] = [];
  for (const name of absolutePath(path, from).split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

/**
 * The roots of all worktrees of the repository that a folder is in, its main one first, as `git worktree list` has
 * them; none outside of a repository.
 */
export function worktreesOf(cwd: string): readonly string[] {
  const root = gitRoot(cwd);
  if (root === undefined) return [];
  const main = repositoryOf(root);
  const linked = namesIn(`${main}/.git/worktrees`).flatMap((name): readonly string[] => {
    try {
      const path = `${main}/.git/worktrees/${name}/gitdir`;
      const link = new TextDecoder().decode(readRegularFile(path, { limit: MAX_BYTES })).trim();
      return link.startsWith("/") && link.endsWith("/.git") ? [link.slice(0, -"/.git".length)] : [];
    } catch {
      // It is being made, or was removed by hand.
      return [];
    }
  });
  return [main, ...linked];
}
