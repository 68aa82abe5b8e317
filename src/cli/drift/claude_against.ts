import { askVersion } from "../../claude/program/ask_version.ts";
import { findClaude } from "../../claude/program/find_claude.ts";
import { refuseOldVersion } from "../../claude/program/refuse_old.ts";
import { fetchRelease, isVersion } from "../../claude/program/releases.ts";
import { CliError } from "../../cli_error.ts";
import type { Environment } from "../../sandbox/environment.ts";

/** A Claude Code that recordings are held against. */
export interface ClaudeAgainst {
  readonly binary: string;
  readonly version: string;
}

/**
 * The Claude Code that a version, `latest` or a path names. A download is removed when it is disposed of.
 *
 * @param options.signal ends a download once it is aborted
 * @throws {CliError} when it is not there, is no Claude Code, or is too old
 */
export async function claudeAgainst(
  against: string,
  { env, cwd, signal }: {
    readonly env: Environment;
    readonly cwd: string;
    readonly signal: AbortSignal;
  },
): Promise<ClaudeAgainst & Disposable> {
  const tooOld = { suggestion: "Give --against a newer version" };
  if (against === "latest" || isVersion(against)) {
    if (against !== "latest") refuseOldVersion(against, tooOld);
    return await fetchRelease(against, { env, signal });
  }
  const binary = findClaude({ named: against, env, cwd, flag: "--against" });
  const version = await askVersion(binary, env);
  if (version === undefined) {
    throw new CliError(
      `Cannot run the recordings against ${against}: ${binary} is no Claude Code`,
      { suggestion: "Name a version such as 2.1.330, or the path of Claude Code's executable" },
    );
  }
  refuseOldVersion(version, tooOld);
  return { binary, version, [Symbol.dispose]: () => {} };
}
