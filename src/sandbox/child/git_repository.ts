import { fileAt, namesIn } from "../../../ffi/files/at_path.ts";
import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { absolutePath, parentOf, realPath } from "../../paths.ts";
import { stopIgnoringSigchld } from "../../../ffi/processes/own_signals.ts";
import { killGroup } from "../../../ffi/processes/process.ts";
import type { Environment } from "../environment.ts";

/** The maximum size of a file, in bytes. Each holds one path of a worktree or its repository. */
const MAX_BYTES = 16_384;

/** Finds the root of the git repository or worktree that a folder is in: the nearest folder with a `.git` folder or file. */
export function gitRoot(cwd: string): string | undefined {
  for (let dir = cwd; dir !== ""; dir = parentOf(dir)) {
    try {
      const { isDirectory, isFile } = Deno.statSync(`${dir}/.git`);
      if (isDirectory || isFile) return dir;
    } catch {
      // Perhaps further up.
    }
  }
  return undefined;
}

/**
 * Finds the other folder whose local settings Claude Code reads: the root of the git repository, for a worktree that of its
 * main repository.
 *
 * Like Claude Code it ignores a root that another user owns, because that user must not give settings to all folders below.
 *
 * @param options.home the user's home folder, which is never the root
 * @returns undefined if there is no other folder than the working directory
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
    // The owner or the home folder cannot be read.
    return undefined;
  }
}

/** Returns the repository of a worktree, or the folder itself if worktree and repository do not link to each other. */
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
    // Its `.git` is a folder or a broken link.
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

/** Lists the roots of all worktrees of a folder's repository, the main one first, as `git worktree list` does; empty outside of a repository. */
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
      // The worktree is being created, or was removed by hand.
      return [];
    }
  });
  return [main, ...linked];
}

/** The time limit of git, in milliseconds, as in Claude Code. */
const LIMIT_MS = 2000;

/** Options that keep git from starting the repository's programs, and from writing. */
const SAFE_OPTIONS = [
  ...["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor="],
  "--no-optional-locks",
];

/** The result of git; after a kill the code is that of the signal. */
interface GitAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs git in a folder, and kills it after the time limit; undefined if there is no git. */
async function runGit(
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Environment },
): Promise<GitAnswer | undefined> {
  const git = (env["PATH"] ?? "").split(":").filter((dir) => dir.startsWith("/"))
    .map((dir) => `${dir}/git`).find((path) => fileAt(path) !== undefined);
  if (git === undefined) return undefined;
  try {
    stopIgnoringSigchld();
    const child = new Deno.Command(git, {
      args: [...SAFE_OPTIONS, ...args],
      cwd,
      env: { ...env, GIT_LITERAL_PATHSPECS: "", GIT_NO_LAZY_FETCH: "1", LC_ALL: "C" },
      clearEnv: true,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
      detached: true,
    }).spawn();
    const timer = setTimeout(() => killGroup(child.pid, "SIGKILL"), LIMIT_MS);
    const { code, stdout, stderr } = await child.output().finally(() => clearTimeout(timer));
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, stdout: text(stdout), stderr: text(stderr) };
  } catch {
    return undefined;
  }
}

/**
 * The arguments for a status. Submodules are ignored, as in 2.1.330, because they have a configuration of their own. Renames
 * are ignored, because git may fetch files to detect them.
 */
const STATUS_ARGS = [
  ...["status", "--porcelain=v2", "--branch"],
  ...["--ignore-submodules=dirty", "--no-renames"],
];

/** A setting that makes git start a program for a file that it reads. */
const FILTER = /^filter\.(.*)\.(?:clean|smudge|process|required)$/su;

/**
 * Returns the status of a work tree, with the branch and its commit. The repository's filters are disabled, as in Claude
 * Code 2.1.330, so that git starts no program of the repository.
 *
 * @returns undefined if git fails, or a filter cannot be disabled
 */
export async function gitStatus(
  where: { readonly cwd: string; readonly env: Environment },
): Promise<string | undefined> {
  const named = await runGit(["config", "--includes", "-z", "--name-only", "--list"], where);
  if (named === undefined) return undefined;
  const filters = new Set(
    named.stdout.split("\0").flatMap((name) => FILTER.exec(name)?.[1] ?? []),
  );
  // Git would read the part after `=` as the value.
  if ([...filters].some((name) => name.includes("="))) return undefined;
  const without = [...filters].flatMap((name) =>
    ["clean=", "smudge=", "process=", "required=false"]
      .flatMap((setting) => ["-c", `filter.${name}.${setting}`])
  );
  return (await runGit([...without, ...STATUS_ARGS], where))?.stdout;
}

const TRACKED_ARGS = ["ls-files", "--error-unmatch", "--", ":(icase).claude/settings.local.json"];

/**
 * Whether Claude Code treats a folder's local settings as the repository's and not as the user's: git tracks them, they are
 * behind a link, or git fails.
 *
 * @param options.isAlone whether there are no local settings of a main checkout
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
  const answer = await runGit(TRACKED_ARGS, { cwd: folder, env });
  if (answer === undefined) return false;
  const { code, stderr } = answer;
  if (code === 1) return false;
  return !stderr.startsWith("fatal: not a git repository (or");
}
