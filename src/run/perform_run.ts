import type { Caller, CallerInput } from "../driver/inputs/caller/caller.ts";
import type { Report } from "../conversation/output/result/report.ts";
import type { PreparedRun } from "./prepare_run.ts";
import type { SettledMessage } from "../conversation/control/message.ts";
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
import type { LateTerms } from "../conversation/control/late_terms.ts";
import type { Input } from "../conversation/control/input.ts";
import type { ApiRelay } from "./api_relay.ts";
import type { RunOrder } from "./plan/run_order.ts";

/** What became of a run, and what is left to print. */
export interface RunReport extends Report {
  /** The frames that were said at the run's end: its last results are among them. */
  readonly unprinted: readonly Frame[];
  /** How many requests to the model have been made whose tools have returned, where they are counted. */
  readonly requests?: number;
  /** What the child's terminal showed last, where that explains a failure, and with every failure of a traced run. */
  readonly screen?: readonly string[];
}

/**
 * Starts the child, follows it to its end and says what became of the turn. Where an answer is known without a child,
 * that is what became of it.
 *
 * @throws {CliError} when the pseudo-terminal or the child cannot be had
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
    const { askAlone } = await import("./headless_run.ts");
    const asked = { text, settled: { kind: "asked", ...gated.asked } } as const;
    return await answerRun(
      prepared,
      await askAlone(prepared, { message: asked, signals: options.signals }),
    );
  }
  const begin: readonly CallerInput[] = [{ type: "message", message }, { type: "closed" }];
  // Where the model is never woken, all has been told with the turn before.
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
    ...unrecordedProblems(prepared)(report),
    unprinted: frames,
    requests: state.session.requests,
    ...(screen === undefined ? {} : { screen }),
  };
}

/** The last screen, where it explains a failure, and with every failure of a traced run. */
export async function screenFor(
  report: Report,
  { lastScreen, trace }: {
    readonly lastScreen: () => Promise<{ readonly lines: readonly string[] }>;
    readonly trace: boolean;
  },
): Promise<readonly string[] | undefined> {
  return showsScreen(report, { trace }) ? (await lastScreen()).lines : undefined;
}

/** Whether the last screen is told with what became of a turn. */
export function showsScreen(
  { problem, exitCode, showScreen }: Report,
  { trace }: { readonly trace: boolean },
): boolean {
  return showScreen || (trace && problem !== undefined && exitCode !== 0);
}

/** A run without a child: what `claude -p` says to the prompt is known, and asks no model. */
async function answerRun(
  { conversation, options }: PreparedRun,
  { message, described }: { readonly message: SettledMessage; readonly described?: JsonObject },
): Promise<RunReport> {
  // Of what says frames nothing is loaded before a child is started.
  const { answerFrames } = await import("../conversation/output/turns/answer_frames.ts");
  const { frames, report } = answerFrames(message, { ...conversation, described });
  return {
    ...report,
    unprinted: frames,
    ...(options.record === undefined
      ? {}
      : { warning: "There is no recording: this answer needs no child" }),
  };
}

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

/**
 * What is to be done about turns that fail because something is not recorded: the API has nothing to do with it.
 *
 * @returns what of a turn's report is otherwise, if something went wrong with the cassette since the turn before
 */
export function unrecordedProblems(
  { relay, options: { apiCassette } }: {
    readonly relay?: Pick<ApiRelay, "troubles">;
    readonly options: Pick<RunOrder, "apiCassette">;
  },
): (report: Report) => Pick<Report, "problem"> | undefined {
  let known = 0;
  return ({ problem }) => {
    const { length } = relay?.troubles() ?? [];
    const isNew = length > known;
    known = length;
    if (problem === undefined || apiCassette === undefined || !isNew) return undefined;
    const suggestion = "Ask what was recorded, or add --on-miss record, which asks the API";
    return { problem: { ...problem, suggestion } };
  };
}
