import { type ConversationEffect, partsOf } from "../../conversation/output/conversation.ts";
import type { Report } from "../../conversation/output/result/report.ts";
import type { Input } from "../../conversation/control/input.ts";
import type { Frame } from "../../claude/wire/frame.ts";
import type { PreparedRun } from "../prepare_run.ts";
import { unrecordedProblems } from "../unrecorded_problems.ts";
import { lineId } from "../../claude/transcript/parents_first.ts";

/** What became of a turn, and what the screen showed if the child did not outlive it. */
export interface TurnReport extends Report {
  readonly screen?: readonly string[];
}

/** What is told of one child's turns. */
export interface ToldTurns {
  /** The exit code of the turn that was told last. */
  readonly exitCode: number;
  /** Whether a turn that the child outlived was answered. */
  readonly hasAnswered: boolean;
  /** Whether all has been told before the child's end: what comes of it then is nobody's any more. */
  readonly isWhole: boolean;
  /** Takes an input before the machines do. */
  readonly hear: (input: Input) => void;
  /** Tells a frame. */
  readonly frame: (frame: Frame) => void;
  /** Tells what became of a turn that the child outlived. */
  readonly report: (report: Report) => void | Promise<void>;
  /** Tells what became of the turn in which the child was lost. */
  readonly ending: (report: TurnReport) => void | Promise<void>;
  /** Tells all that is left to be told, and returns the exit code. */
  readonly rest: (said: readonly ConversationEffect[]) => number;
}

/**
 * Tells of a child's turns as they happen.
 *
 * @param options.exitCode that of the turn before
 */
export function toldTurns(
  prepared: Pick<PreparedRun, "sandbox" | "relay" | "options">,
  options: {
    readonly exitCode: number;
    readonly emit?: (frame: Frame) => void;
    readonly onReport: (report: TurnReport) => void | Promise<void>;
  },
): ToldTurns {
  const unrecorded = unrecordedProblems(prepared);
  const lines = heardLines();
  let { exitCode } = options;
  let hasAnswered = false;
  let isWhole = false;
  const frame = (frame: Frame) => {
    // Whoever hears of a result may look for its turn in the session.
    if (frame.type === "result") prepared.sandbox.bringSoFar(lines.last());
    options.emit?.(frame);
  };
  const report = (report: TurnReport) => {
    exitCode = report.exitCode;
    return options.onReport({ ...report, ...unrecorded(report) });
  };
  return {
    get exitCode() {
      return exitCode;
    },
    get hasAnswered() {
      return hasAnswered;
    },
    get isWhole() {
      return isWhole;
    },
    hear: lines.hear,
    frame: (one) => {
      if (!isWhole) frame(one);
    },
    report: (one) => {
      if (isWhole) return;
      hasAnswered ||= one.result.num_turns > 0;
      return report(one);
    },
    ending: report,
    rest: (said) => {
      isWhole = true;
      for (const part of said.flatMap(partsOf)) {
        if (part.type === "frame") frame(part.frame);
        if (part.type === "report") report(part.report);
      }
      return exitCode;
    },
  };
}

/** Which lines of a session's transcript the machines have heard. */
interface HeardLines {
  /** Takes an input before the machines do. */
  readonly hear: (input: Input) => void;
  /** The id of the last line of which is known whose it is; undefined where there is none. */
  readonly last: () => string | undefined;
}

/** Notes the lines: whose message a line is of the user's is known once the machines are done with it. */
export function heardLines(): HeardLines {
  let last: string | undefined;
  let next: string | undefined;
  return {
    hear: (input) => {
      last = next ?? last;
      next = input.type === "transcript" ? lineId(input.entry) : undefined;
      if (input.type !== "transcript") return;
      if (input.entry.type === "user" || input.entry.type === "attachment") return;
      last = next ?? last;
    },
    last: () => last,
  };
}
