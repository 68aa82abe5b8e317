import { HeadlessTwin } from "../driver/effects/headless_twin.ts";
import type { PreparedRun } from "./prepare_run.ts";
import type { StopSignals } from "../driver/stop_signals.ts";
import {
  COMMAND,
  commandAnswer,
  commandRequest,
} from "../conversation/protocol/requests/asked_command.ts";
import type { Consulted } from "../conversation/control/input.ts";
import type { SettledMessage } from "../conversation/control/message.ts";
import type { JsonObject } from "../json_object.ts";
import { inTime } from "./waits.ts";
import { CliError } from "../cli_error.ts";

/**
 * A headless Claude Code that does all of a run by itself: there is no child beside it.
 *
 * @param onArrival called when it has said something that was asked
 */
function twinAlone(
  { twin: plan, binary, sandbox, sessionId, options: { cwd } }: PreparedRun,
  onArrival: (twin: HeadlessTwin) => void = () => {},
): HeadlessTwin {
  if (plan === undefined) {
    throw new Error("A run without a child has a plan for who carries it out");
  }
  const twin: HeadlessTwin = new HeadlessTwin({
    plan,
    binary,
    cwd,
    configDir: sandbox.configDir,
    sessionId,
    isResumed: sandbox.resumed.size > 0,
    transcript: () => undefined,
    model: () => undefined,
    costNote: () => undefined,
    onArrival: () => onArrival(twin),
  });
  return twin;
}

/**
 * Has a headless Claude Code carry out the command that is all of a run, as the child of a conversation has it beside it.
 *
 * @returns the message with what came of it, and what the session is like
 * @throws {StoppedError} when the run's time is up, or a signal comes
 */
export async function askAlone(
  prepared: PreparedRun,
  { message, signals }: { readonly message: SettledMessage; readonly signals: StopSignals },
): Promise<{ readonly message: SettledMessage; readonly described?: JsonObject }> {
  const { timeoutMs, startedAt = performance.now() } = prepared.options;
  const { promise, resolve } = Promise.withResolvers<Consulted>();
  await prepared.sandbox.expectTranscripts();
  await using twin = twinAlone(prepared, (twin) => {
    for (const { said } of twin.take()) resolve(said);
  });
  twin.ask(commandRequest(message, COMMAND));
  const what = "a headless Claude Code had not carried out the command";
  const said = await inTime(promise, { what, startedAt, timeoutMs, signals });
  twin.bringNotes();
  const described = "init" in said ? { described: said.init } : {};
  return { message: commandAnswer(message, said), ...described };
}

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
  const refusal = new CliError(why, { suggestion: remedyFor(why), failedBeforeStart: true });
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
