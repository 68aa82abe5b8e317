import type { CallerInput } from "../driver/inputs/caller/caller.ts";
import type { Report } from "../conversation/output/result/report.ts";
import { performSession, type SessionWatcher } from "./perform_session.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { unrecordedProblems } from "./unrecorded_problems.ts";
import type { SettledMessage } from "../conversation/control/message.ts";
import type { JsonObject } from "../json_object.ts";
import type { Frame } from "../claude/wire/frame.ts";

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
    const { askAlone } = await import("./ask_alone.ts");
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
