import type { Caller, CallerInput } from "../driver/inputs/callers.ts";
import type { Report } from "../conversation/output/result/verdict.ts";
import type { PreparedRun } from "./prepare_run.ts";
import type { SettledMessage } from "../conversation/control/message.ts";
import { definedFields } from "../defined_fields.ts";
import type { JsonObject } from "../json_object.ts";
import type { Frame } from "../claude/wire/frame.ts";
import type { Outlet } from "../../ffi/descriptors/outlet.ts";
import { LibcError } from "../../ffi/errno.ts";
import { CliError } from "../cli_error.ts";
import type { ShownTerminal } from "../driver/child_terminal.ts";
import type { SessionRun } from "../driver/run_session.ts";
import { type Child, startChild } from "../driver/start_child.ts";
import type { StopSignals } from "../driver/stop_signals.ts";
import type { UserTerminal } from "../driver/user_terminal.ts";
import type { ConversationEffect } from "../conversation/output/conversation.ts";
import type { LateTerms } from "../conversation/control/session_options.ts";
import type { Input } from "../conversation/control/input.ts";
import { withoutOwnNotice } from "../conversation/terminal/screen.ts";
import type { ApiRelay } from "./api_relay.ts";
import type { RunOrder } from "./plan/run_order.ts";

/** The report of a run. */
export interface RunReport extends Report {
  /** The unprinted frames of the run's end, including its last result. */
  readonly unprinted: readonly Frame[];
  /** The number of requests to the model, if they are counted. Requests whose tools still run are left out. */
  readonly requests?: number;
  /** The last screen of the child, if it explains a failure or the run is traced. */
  readonly screen?: readonly string[];
}

/**
 * Carries out a run of one prompt: with a child, or without one if the answer is known or a headless helper gives it.
 *
 * @throws {CliError} when the pseudo-terminal or the child cannot be started
 */
export async function performRun(
  prepared: PreparedRun,
  options: SessionWatcher,
): Promise<RunReport> {
  const { message, gated } = prepared;
  if (message === undefined) throw new Error("A run of one prompt has a prompt");
  const { text } = message;
  if (gated.answer !== undefined) {
    return await answerRun(prepared, {
      message: { text, settled: { kind: "local", ...gated.answer } },
    });
  }
  if (gated.asked !== undefined) {
    const { runCommand } = await import("./headless_run.ts");
    const asked = { text, settled: { kind: "asked", ...gated.asked } } as const;
    const answer = await runCommand(prepared, { message: asked, signals: options.signals });
    return await answerRun(prepared, answer);
  }
  const begin: readonly CallerInput[] = [{ type: "message", message }, { type: "closed" }];
  // The last report. If nothing can wake the model after the last turn, the report comes before the end of the session,
  // and the end has none.
  let last: Report | undefined;
  const { end: { frames, report = last }, state, lastScreen } = await performSession(prepared, {
    ...options,
    begin,
    onReport: (report) => last = report,
  });
  if (report === undefined) throw new Error("The session ended without a report");
  const screen = await screenFor(report, { lastScreen, trace: prepared.options.trace });
  return {
    ...report,
    ...adviseOnMisses(prepared)(report),
    unprinted: frames,
    requests: state.session.requests,
    ...definedFields({ screen }),
  };
}

/** The last screen, if it belongs to the report. */
export async function screenFor(
  report: Report,
  { lastScreen, trace }: {
    readonly lastScreen: () => Promise<{ readonly lines: readonly string[] }>;
    readonly trace: boolean;
  },
): Promise<readonly string[] | undefined> {
  return showsScreen(report, { trace }) ? withoutOwnNotice((await lastScreen()).lines) : undefined;
}

/** Whether the last screen belongs to a report: it explains the failure, or the failed run is traced. */
export function showsScreen(
  { problem, exitCode, showScreen }: Report,
  { trace }: { readonly trace: boolean },
): boolean {
  return showScreen || (trace && problem !== undefined && exitCode !== 0);
}

/** The report of a run whose answer needs no child. */
async function answerRun(
  { conversation, options }: PreparedRun,
  { message, described }: { readonly message: SettledMessage; readonly described?: JsonObject },
): Promise<RunReport> {
  // Runs with a child load this module while the child starts.
  const { answerFrames } = await import("../conversation/output/turns/turn_results.ts");
  const { frames, report } = answerFrames(message, { ...conversation, described });
  return {
    ...report,
    unprinted: frames,
    ...definedFields({
      warning: options.record === undefined
        ? undefined
        : "There is no recording: this answer needs no child",
    }),
  };
}

/** The observers of a session, and further outlets to serve. */
export interface SessionWatcher {
  readonly signals: StopSignals;
  /** The terminal whose size the child's terminal follows; by default this program's own. */
  readonly terminal?: UserTerminal;
  /** Outlets to flush whenever their readers are ready. */
  readonly outlets?: readonly Outlet[];
  /** Receives each frame when it is emitted, except those of the session's end. */
  readonly emit?: (frame: Frame) => void;
  readonly onInput?: (input: Input) => void;
  /** Receives the child's terminal before the child has written to it. */
  readonly onTerminal?: (terminal: ShownTerminal) => void;
  readonly onEffect?: (effect: ConversationEffect) => void;
  readonly trace: (text: string) => void;
  readonly onChild?: (child: Pick<Child, "signal">) => void;
  /** Receives each line of the debug log with `--debug-to-stderr`. */
  readonly onLogLine?: (line: string) => void;
}

/**
 * Starts the child of a prepared run and follows it to its end.
 *
 * @param options.begin inputs of the caller from before the child's start
 * @param options.caller the source of further inputs
 * @throws {CliError} when the pseudo-terminal or the child cannot be started
 */
export async function performSession(
  prepared: PreparedRun,
  options: SessionWatcher & {
    readonly begin: readonly CallerInput[];
    readonly caller?: Caller;
    /** Returns the terms of a caller that arrived after the child's start, once. */
    readonly takeTerms?: () => LateTerms | undefined;
    /** Receives the report of each turn before the last one. */
    readonly onReport?: (report: Report) => void;
    /** Called when only the child's exit is outstanding, with a function that computes the final output. */
    readonly onOutputComplete?: (finalOutput: () => readonly ConversationEffect[]) => void;
  },
): Promise<SessionRun> {
  const { frames, record, cwd, answerAlone } = prepared.options;
  const { emit, onLogLine, onReport, onTerminal, onOutputComplete, trace, ...rest } = options;
  const { size } = prepared.conversation.session;
  // Earlier lines of the log do not come from this child.
  const retryLines = await followLines(prepared.retryLog);
  const toldLines = await followLines(prepared.toldLog);
  try {
    using child = startChild({ ...prepared, cwd, size });
    const expecting = prepared.sandbox.expectTranscripts();
    options.onChild?.(child);
    // These modules are loaded while the child starts, which takes longer.
    await expecting;
    const { runSession } = await import("../driver/run_session.ts");
    const { effectsAtEnd } = await import("../conversation/output/end_conversation.ts");
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
      logLines: toldLines,
      frames: frames || record !== undefined,
      answerAlone,
      onEffect: (effect) => {
        options.onEffect?.(effect);
        if (effect.type === "frame") emit?.(effect.frame);
        if (effect.type === "report") onReport?.(effect.report);
        if (effect.type === "trace") trace(effect.text);
        if (effect.type === "log") onLogLine?.(effect.line);
        if (effect.type === "whole") onOutputComplete?.(() => effectsAtEnd(effect));
      },
    });
  } catch (error) {
    throw error instanceof LibcError ? await driverError(error, prepared) : error;
  }
}

/** Follows a log from its current end on. */
async function followLines(
  log: string | undefined,
): Promise<(() => readonly string[]) | undefined> {
  if (log === undefined) return undefined;
  const { followLog } = await import("../driver/inputs/debug_log.ts");
  return followLog(log);
}

async function driverError(
  error: LibcError,
  { binary, options: { cwd } }: PreparedRun,
): Promise<CliError> {
  if (error.path === cwd) {
    const why = error.code === "ENOENT" ? "it does not exist" : error.description;
    return new CliError(`Cannot work in ${error.path}: ${why}`, {
      suggestion: "Change to a folder that exists and that you may enter: cd ~",
      cause: error,
    });
  }
  const { tooManyProcessesError } = await import(
    "../claude/program/claude_version.ts"
  );
  return tooManyProcessesError(error) ??
    new CliError(`Cannot run claude in a pseudo-terminal: ${error.message}`, {
      suggestion: error.path === binary
        ? `Look whether it starts by itself: "${binary}" --version`
        : "Look at what claude-print doctor says of pty and fifo, and at the limits: ulimit -a",
      cause: error,
    });
}

/**
 * Explains turns that failed because a request is not in the API cassette. Claude Code blames the API for them.
 *
 * @returns for each report, a problem with another suggestion if the relay had a problem since the previous report
 */
export function adviseOnMisses(
  { relay, options: { apiCassette } }: {
    readonly relay?: Pick<ApiRelay, "problems">;
    readonly options: Pick<RunOrder, "apiCassette">;
  },
): (report: Report) => Pick<Report, "problem"> | undefined {
  let known = 0;
  return ({ problem }) => {
    const { length } = relay?.problems() ?? [];
    const isNew = length > known;
    known = length;
    if (problem === undefined || apiCassette === undefined || !isNew) return undefined;
    const suggestion = "Ask what was recorded, or add --on-miss record, which asks the API";
    return { problem: { ...problem, suggestion } };
  };
}
