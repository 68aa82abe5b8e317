import type { HelperReply } from "../conversation/control/input.ts";
import type { SettledMessage } from "../conversation/control/message.ts";
import {
  commandAnswer,
  commandRequest,
  SLASH_COMMAND,
} from "../conversation/protocol/requests/slash_commands.ts";
import { CliError } from "../cli_error.ts";
import { definedFields } from "../defined_fields.ts";
import { HeadlessHelper } from "../driver/effects/headless_helper.ts";
import type { StopSignals } from "../driver/stop_signals.ts";
import type { JsonObject } from "../json_object.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { inTime } from "./waits.ts";

/** Creates the headless helper of a run that has no child. */
function headlessHelper(
  { helper: plan, binary, sandbox, sessionId, options: { cwd } }: PreparedRun,
  onArrival: (helper: HeadlessHelper) => void = () => {},
): HeadlessHelper {
  if (plan === undefined) throw new Error("A run without a child has a plan for a headless helper");
  const helper: HeadlessHelper = new HeadlessHelper({
    plan,
    binary,
    cwd,
    configDir: sandbox.configDir,
    sessionId,
    isResumed: sandbox.resumed.size > 0,
    transcript: () => undefined,
    model: () => undefined,
    costNote: () => undefined,
    onArrival: () => onArrival(helper),
  });
  return helper;
}

/**
 * Carries out a run whose prompt is a command that only a headless Claude Code can answer.
 *
 * @returns the message with its answer, and a description of the session
 * @throws {StoppedError} when the run's time has expired, or a signal arrives
 */
export async function runCommand(
  prepared: PreparedRun,
  { message, signals }: { readonly message: SettledMessage; readonly signals: StopSignals },
): Promise<{ readonly message: SettledMessage; readonly described?: JsonObject }> {
  const { timeoutMs, startedAt = performance.now() } = prepared.options;
  const { promise, resolve } = Promise.withResolvers<HelperReply>();
  await prepared.sandbox.expectTranscripts();
  await using helper = headlessHelper(prepared, (helper) => {
    for (const { said } of helper.takeAnswers()) resolve(said);
  });
  helper.ask(commandRequest(message, SLASH_COMMAND));
  const what = "a headless Claude Code had not carried out the command";
  const answer = await inTime(promise, { what, startedAt, timeoutMs, signals });
  helper.writeNotes();
  const described = "init" in answer ? answer.init : undefined;
  return { message: commandAnswer(message, answer), ...definedFields({ described }) };
}

const CHECK_AND_RETRY = "Look with git what has become of them, then try again";

/**
 * Carries out a run that only restores files to their state before a message.
 *
 * @param options.message the message's uuid in the transcript
 * @returns the output of the headless Claude Code
 * @throws {CliError} when the headless Claude Code refuses, in its words
 * @throws {StoppedError} when the run's time has expired, or a signal arrives
 */
export async function restoreFiles(
  prepared: PreparedRun,
  { message, signals }: { readonly message: string; readonly signals: StopSignals },
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const { binary, options: { cwd, env, timeoutMs, startedAt = performance.now() } } = prepared;
  await prepared.sandbox.expectTranscripts();
  await using helper = headlessHelper(prepared);
  const what = "a headless Claude Code had not restored the files";
  const { code, stdout, stderr } = await inTime(
    helper.runArguments([`--rewind-files=${message}`]),
    {
      what,
      startedAt,
      timeoutMs,
      signals,
    },
  );
  if (code === 0) return { stdout, stderr };
  const [why = ""] = stderr.trim().split("\n").slice(-1);
  if (why === "") {
    throw new CliError(`Cannot restore files: a headless Claude Code ended with code ${code}`, {
      suggestion: CHECK_AND_RETRY,
    });
  }
  const error = new CliError(why, { suggestion: remedyFor(why), failedBeforeStart: true });
  const { cachedVersion } = await import("../claude/program/claude_version.ts");
  error.claudeVersion = await cachedVersion(binary, env, { cwd });
  throw error;
}

/** A suggestion for an error of Claude Code (2.1.330). */
function remedyFor(why: string): string {
  if (/not enabled/u.test(why)) {
    return "Files are kept, and restored, with CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING=1 alone";
  }
  return /No file checkpoint|not found|is not a user message/u.test(why)
    ? "Name a prompt of the session by the uuid that its transcript has"
    : CHECK_AND_RETRY;
}
