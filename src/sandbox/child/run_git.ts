import { fileAt } from "../../../ffi/files/at_path.ts";
import { heedChildren } from "../../../ffi/processes/own_signals.ts";
import { killGroup } from "../../../ffi/processes/process.ts";
import type { Environment } from "../environment.ts";

/** How long git may take, in milliseconds, as in Claude Code. */
const LIMIT_MS = 2000;

/** What git may not start, whatever the repository says, nor write where it only looks. */
const HARMLESS = [
  ...["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor="],
  "--no-optional-locks",
];

/** What git said; where it was killed, the code is that of the signal. */
export interface GitAnswer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Asks git about a folder; one that takes too long is killed. Undefined where there is no git. */
export async function runGit(
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Environment },
): Promise<GitAnswer | undefined> {
  const git = (env["PATH"] ?? "").split(":").filter((dir) => dir.startsWith("/"))
    .map((dir) => `${dir}/git`).find((path) => fileAt(path) !== undefined);
  if (git === undefined) return undefined;
  try {
    heedChildren();
    const child = new Deno.Command(git, {
      args: [...HARMLESS, ...args],
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
const STATUS = [
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
  return (await runGit([...without, ...STATUS], where))?.stdout;
}
