import { listenToSignals } from "../../../ffi/processes/own_signals.ts";
import { SIGNALS } from "../../../ffi/processes/signals.ts";
import { askVersion, refuseOldVersion } from "../../claude/program/claude_version.ts";
import { findClaude } from "../../claude/program/find_claude.ts";
import { storeLearntProfile, useLearntProfiles } from "../../claude/program/learnt_profiles.ts";
import { lackedCapabilities } from "../../claude/versions/capabilities.ts";
import type { VersionProfile } from "../../claude/versions/profile.ts";
import { hasProfile, isNewerThanProfiles } from "../../claude/versions/profiles.ts";
import { CliError, EXIT } from "../../cli_error.ts";
import type { LearnRequest } from "../arguments/parsed_arguments.ts";
import type { LearnOptions } from "../../recording/learn/learn_profile.ts";
import { currentFolder } from "../../run/facts/this_process.ts";
import { callerEnvironment, type Environment } from "../../sandbox/environment.ts";
import { requireSystem } from "../../sandbox/require_system.ts";
import { escapeInvisible } from "../../recording/redaction/visible_text.ts";
import { print, printLines } from "../report/print.ts";

/** Measures a profile; tests replace it. */
export type Measure = (binary: string, options: LearnOptions) => Promise<VersionProfile>;

/**
 * Measures the installed Claude Code if it is newer than every shipped profile, and saves its profile for later runs. With
 * `check` it only reports whether the version has a profile.
 *
 * @returns the exit code: 1 if a checked version has no profile, 128 + n after a signal
 * @throws {CliError} when there is no Claude Code, it is too old, or it cannot be measured
 */
export async function learn(
  { check, claudeBinary }: LearnRequest,
  { env = callerEnvironment(), isShipped = (version: string) => !isNewerThanProfiles(version) }: {
    readonly env?: Environment;
    /** Returns true if a shipped profile covers the version. */
    readonly isShipped?: (version: string) => boolean;
  } = {},
): Promise<number> {
  requireSystem();
  const cwd = currentFolder();
  const binary = findClaude({ named: claudeBinary, env, cwd });
  const version = await askVersion(binary, env, { cwd });
  if (version === undefined) {
    throw new CliError(`Cannot learn from ${binary}: it is no Claude Code`, {
      suggestion: "Name Claude Code's executable with --claude-binary",
    });
  }
  refuseOldVersion(version);
  if (isShipped(version)) {
    printLines(`Claude Code ${version}: known to this claude-print\n`);
    return 0;
  }
  if (check) {
    const { warnings } = await useLearntProfiles(env);
    for (const warning of warnings) print(Deno.stderr, `claude-print: Warning: ${warning}\n`);
    const isLearnt = hasProfile(version);
    const state = isLearnt ? "learnt" : "not known; run claude-print learn";
    printLines(`Claude Code ${version}: ${state}\n`);
    return isLearnt ? 0 : 1;
  }
  const stop = new AbortController();
  let exitCode = 0;
  using _ = listenToSignals(["SIGINT", "SIGTERM", "SIGHUP"], (signal) => {
    exitCode = EXIT.signal + SIGNALS[signal];
    stop.abort(new Error("Stopped"));
  });
  try {
    const { learnProfile } = await import("../../recording/learn/learn_profile.ts");
    return await learnAndCompare(binary, { env, signal: stop.signal, measure: learnProfile });
  } catch (error) {
    if (stop.signal.aborted) return exitCode;
    throw error;
  }
}

/**
 * Measures a Claude Code, saves its profile, and prints the differences from the newest shipped one.
 *
 * @returns the exit code: 2 if the version lacks a capability that this program needs
 */
export async function learnAndCompare(
  binary: string,
  {
    env,
    signal,
    measure,
    say = (text) => printLines(text),
    warn = (text) => print(Deno.stderr, text),
  }: {
    readonly env: Environment;
    readonly signal: AbortSignal;
    readonly measure: Measure;
    readonly say?: (text: string) => void;
    readonly warn?: (text: string) => void;
  },
): Promise<number> {
  const onProgress = (step: string, done: number, all: number) => {
    warn(`claude-print: Measuring ${step} (${done + 1} of ${all})\n`);
  };
  let profile: VersionProfile;
  try {
    profile = await measure(binary, { signal, onProgress });
  } catch (cause) {
    if (signal.aborted || cause instanceof CliError) throw cause;
    throw new CliError(`Cannot measure ${binary}: ${(cause as Error).message}`, {
      suggestion: "Free space in TMPDIR and try again; runs go on with the newest known version",
      cause,
    });
  }
  signal.throwIfAborted();
  const path = storeLearntProfile(profile, env);
  say(escapeInvisible(`Claude Code ${profile.version}: learnt, in ${path}`) + "\n");
  const [{ compareProfiles }, { NEWEST_PROFILE }] = await Promise.all([
    import("../../recording/learn/learn_profile.ts"),
    import("../../claude/versions/newest_profile.ts"),
  ]);
  for (const change of compareProfiles(NEWEST_PROFILE, profile)) {
    say(`  ${escapeInvisible(change)}\n`);
  }
  const lacked = lackedCapabilities(profile.capabilities);
  if (lacked.length === 0) return 0;
  const names = lacked.join(", ");
  warn(
    `claude-print: Claude Code ${profile.version} lacks what claude-print needs: ${names}\n` +
      "Use an older version with --claude-binary until a claude-print for this one is released\n",
  );
  return 2;
}
