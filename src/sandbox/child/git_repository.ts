import { fileAt, namesIn } from "../../../ffi/files/at_path.ts";
import { readRegularFile } from "../../../ffi/files/regular_file.ts";
import { absolutePath, parentOf, realPath } from "../../paths.ts";
import { stopIgnoringSigchld } from "../../../ffi/processes/own_signals.ts";
import { killGroup } from "../../../ffi/processes/process.ts";
import type { Environment } from "../environment.ts";

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

/** How long git may take, in milliseconds, as in Claude Code. */
const LIMIT_MS = 2000;

/** What git may not start, whatever the repository says, nor write where it only looks. */
const SAFE_OPTIONS = [
  ...["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor="],
  "--no-optional-locks",
];

/** What git said; where it was killed, the code is that of the signal. */
interface GitAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Asks git about a folder; one that takes too long is killed. Undefined where there is no git. */
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
 * How git is asked for a status: work trees of submodules have a configuration of their own, which 2.1.330 leaves alone
 * too, and to find renames git may have to fetch what it compares.
 */
const STATUS_ARGS = [
  ...["status", "--porcelain=v2", "--branch"],
  ...["--ignore-submodules=dirty", "--no-renames"],
];

/** A setting by which a repository has git start a program for a file that it looks at. */
const FILTER = /^filter\.(.*)\.(?:clean|smudge|process|required)$/su;

/**
 * The state of a work tree, with the branch and its commit. No program of the repository's is started for it: filters
 * that are configured are left out, as by Claude Code 2.1.330.
 *
 * @returns undefined where git says nothing, and where a filter cannot be left out
 */
export async function gitStatus(
  where: { readonly cwd: string; readonly env: Environment },
): Promise<string | undefined> {
  const named = await runGit(["config", "--includes", "-z", "--name-only", "--list"], where);
  if (named === undefined) return undefined;
  const filters = new Set(
    named.stdout.split("\0").flatMap((name) => FILTER.exec(name)?.[1] ?? []),
  );
  // Git would take what follows the sign for the value.
  if ([...filters].some((name) => name.includes("="))) return undefined;
  const without = [...filters].flatMap((name) =>
    ["clean=", "smudge=", "process=", "required=false"]
      .flatMap((setting) => ["-c", `filter.${name}.${setting}`])
  );
  return (await runGit([...without, ...STATUS_ARGS], where))?.stdout;
}

const TRACKED_ARGS = ["ls-files", "--error-unmatch", "--", ":(icase).claude/settings.local.json"];

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
  const answer = await runGit(TRACKED_ARGS, { cwd: folder, env });
  if (answer === undefined) return false;
  const { code, stderr } = answer;
  if (code === 1) return false;
  return !stderr.startsWith("fatal: not a git repository (or");
}
