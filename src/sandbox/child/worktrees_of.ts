import { readRegularFile } from "../../../ffi/regular_file.ts";
import { namesIn } from "../names_in.ts";
import { gitRoot } from "./git_root.ts";
import { repositoryOf } from "./main_checkout.ts";

/** The files by which git finds a worktree hold a path each. */
const MAX_BYTES = 16_384;

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
