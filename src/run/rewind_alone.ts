import { CliError } from "../cli_error.ts";
import type { StopSignals } from "../driver/stop_signals.ts";
import { inTime } from "./in_time.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { twinAlone } from "./twin_alone.ts";

const AGAIN = "Look with git what has become of them, then try again";

/**
 * Has a headless Claude Code restore the files of a session as they were before a message, which is all of the run.
 *
 * @param options.message the message's uuid, as the transcript has it
 * @returns what it says of it
 * @throws {CliError} in its words when it refuses to
 * @throws {StoppedError} when the run's time is up, or a signal comes
 */
export async function rewindAlone(
  prepared: PreparedRun,
  { message, signals }: { readonly message: string; readonly signals: StopSignals },
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const { binary, options: { cwd, env, timeoutMs, startedAt = performance.now() } } = prepared;
  await prepared.sandbox.expectTranscripts();
  await using twin = twinAlone(prepared);
  const what = "a headless Claude Code had not restored the files";
  const { code, stdout, stderr } = await inTime(twin.carryOut([`--rewind-files=${message}`]), {
    what,
    startedAt,
    timeoutMs,
    signals,
  });
  if (code === 0) return { stdout, stderr };
  const [why = ""] = stderr.trim().split("\n").slice(-1);
  if (why === "") {
    throw new CliError(`Cannot restore files: a headless Claude Code ended with code ${code}`, {
      suggestion: AGAIN,
    });
  }
  const refusal = new CliError(why, { suggestion: remedyFor(why), isUnbegun: true });
  const { knownVersion } = await import("../claude/program/known_version.ts");
  refusal.claudeVersion = await knownVersion(binary, env, { cwd });
  throw refusal;
}

/** What to do about a refusal (2.1.330). */
function remedyFor(why: string): string {
  if (/not enabled/u.test(why)) {
    return "Files are kept, and restored, with CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=1 alone";
  }
  return /No file checkpoint|not found|is not a user message/u.test(why)
    ? "Name a prompt of the session by the uuid that its transcript has"
    : AGAIN;
}
