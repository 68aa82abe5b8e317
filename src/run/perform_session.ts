import type { Outlet } from "../../ffi/descriptors/outlet.ts";
import { LibcError } from "../../ffi/errno.ts";
import { CliError } from "../cli_error.ts";
import type { ShownTerminal } from "../driver/child_terminal.ts";
import type { SessionRun } from "../driver/run_session.ts";
import type { Caller, CallerInput } from "../driver/inputs/caller/caller.ts";
import { type Child, startChild } from "../driver/start_child.ts";
import type { StopSignals } from "../driver/stop_signals.ts";
import type { UserTerminal } from "../driver/user_terminal.ts";
import type { ConversationEffect } from "../conversation/output/conversation.ts";
import type { LateTerms } from "../conversation/control/late_terms.ts";
import type { Report } from "../conversation/output/result/report.ts";
import type { PreparedRun } from "./prepare_run.ts";
import type { Input } from "../conversation/control/input.ts";
import type { Frame } from "../claude/wire/frame.ts";

/** Who looks on while a child lives, and what else is attended to. */
export interface SessionWatcher {
  readonly signals: StopSignals;
  /** The terminal whose size the child's has; absent for this program's own, if the signals are its own. */
  readonly terminal?: UserTerminal;
  /** What is written to meanwhile, to be flushed when it takes what it owes. */
  readonly outlets?: readonly Outlet[];
  /** Takes each frame as it happens; those of the end are left to be printed. */
  readonly emit?: (frame: Frame) => void;
  /** Takes every input of the session, as `runSession` says. */
  readonly onInput?: (input: Input) => void;
  /** Takes what can be seen of the child's terminal, before the child has written anything. */
  readonly onTerminal?: (terminal: ShownTerminal) => void;
  /** Takes every effect of the session. */
  readonly onEffect?: (effect: ConversationEffect) => void;
  readonly trace: (text: string) => void;
  /** Takes each child once it has been started. */
  readonly onChild?: (child: Pick<Child, "signal">) => void;
  /** Takes each line of the debug log, where that is to be told. */
  readonly onLogLine?: (line: string) => void;
}

/**
 * Starts the child of a prepared run and follows it to its end.
 *
 * @param options.begin what is said before there is a child
 * @param options.caller says what comes after that
 * @throws {CliError} when the pseudo-terminal or the child cannot be had
 */
export async function performSession(
  prepared: PreparedRun,
  options: SessionWatcher & {
    readonly begin: readonly CallerInput[];
    readonly caller?: Caller;
    /** Gives, once there are some, the terms of a caller that came after the child. */
    readonly takeTerms?: () => LateTerms | undefined;
    /** Takes what became of each turn that the child outlived. */
    readonly onReport?: (report: Report) => void;
    /** Takes what says what is to be said at the end, once nothing but the child's own end is to come. */
    readonly onWhole?: (said: () => readonly ConversationEffect[]) => void;
  },
): Promise<SessionRun> {
  const { frames, record, cwd, answerAlone } = prepared.options;
  const { emit, onLogLine, onReport, onTerminal, onWhole, trace, ...rest } = options;
  const { size } = prepared.conversation.session;
  // Before the child is started: what is in its log by then is not its own.
  const retryLines = await linesOf(prepared.retryLog);
  const toldLines = await linesOf(prepared.toldLog);
  try {
    using child = startChild({ ...prepared, cwd, size });
    const expecting = prepared.sandbox.expectTranscripts();
    options.onChild?.(child);
    // Loaded while the child starts, which takes longer.
    await expecting;
    const { runSession } = await import("../driver/run_session.ts");
    const { saidAtEnd } = await import("../conversation/output/conclusion.ts");
    const { ChildTerminal } = await import("../driver/child_terminal.ts");
    const childTerminal = new ChildTerminal(child.pty, size);
    onTerminal?.(childTerminal);
    return await runSession({
      ...rest,
      ...prepared,
      cwd,
      child,
      childTerminal,
      retryLines,
      toldLines,
      frames: frames || record !== undefined,
      answerAlone,
      onEffect: (effect) => {
        options.onEffect?.(effect);
        if (effect.type === "frame") emit?.(effect.frame);
        if (effect.type === "report") onReport?.(effect.report);
        if (effect.type === "trace") trace(effect.text);
        if (effect.type === "log") onLogLine?.(effect.line);
        if (effect.type === "whole") onWhole?.(() => saidAtEnd(effect));
      },
    });
  } catch (error) {
    throw error instanceof LibcError ? await driverError(error, prepared) : error;
  }
}

/** Follows a log from here on; only a run that reads one loads what it takes. */
async function linesOf(log: string | undefined): Promise<(() => readonly string[]) | undefined> {
  if (log === undefined) return undefined;
  const { followLog } = await import("../driver/inputs/follow_lines.ts");
  return followLog(log);
}

async function driverError(
  error: LibcError,
  { binary, options: { cwd } }: PreparedRun,
): Promise<CliError> {
  if (error.path === cwd) {
    const why = error.code === "ENOENT" ? "it no longer exists" : error.description;
    return new CliError(`Cannot work in ${error.path}: ${why}`, {
      suggestion: "Change to a folder that exists and that you may enter: cd ~",
      cause: error,
    });
  }
  const { tooManyProcesses } = await import("../claude/program/ask_version.ts");
  return tooManyProcesses(error) ??
    new CliError(`Cannot run claude in a pseudo-terminal: ${error.message}`, {
      suggestion: error.path === binary
        ? `Look whether it starts by itself: "${binary}" --version`
        : "Look at what claude-print doctor says of pty and fifo, and at the limits: ulimit -a",
      cause: error,
    });
}
