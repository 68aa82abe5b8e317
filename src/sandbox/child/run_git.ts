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
      env: { ...env, GIT_LITERAL_PATHSPECS: "", LC_ALL: "C" },
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
