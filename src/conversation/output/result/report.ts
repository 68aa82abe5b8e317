import type { HookPayload } from "../../control/input.ts";
import type { Limits } from "../../control/limits.ts";
import type { ResultFrame } from "../../../claude/wire/result_frame.ts";

/** A failure in one line, and what to do about it. */
export interface Problem {
  readonly message: string;
  readonly suggestion?: string;
}

/** What has to be known of a run to say what became of it. */
export interface ReportOptions {
  readonly limits: Limits;
  /** Path of the executable. */
  readonly binary: string;
  /** The variable that holds the key or token in use; absent for a login. */
  readonly credential?: string;
  readonly maxTurns?: number;
  readonly maxBudgetUsd?: number;
  /** How often the model may try to give a structured answer. */
  readonly outputTries?: number;
  /** Whether the child sends no prompt that waits for its time, because the project has such prompts. */
  readonly keptAsleep?: true;
  /** The folder of the run's recording. */
  readonly record?: string;
}

/** What became of a run, or of one of its turns. */
export interface Report {
  /** The result of the turn, or of the last of several. */
  readonly result: ResultFrame;
  readonly exitCode: number;
  /** Tickets of the messages that it answers, where they have any. */
  readonly tickets?: readonly string[];
  /** Absent when the result says it all. */
  readonly problem?: Problem;
  /** What the user should know of a run that did not fail, in one line. */
  readonly warning?: string;
  /** Whether the last screen helps to understand a failure. */
  readonly showScreen: boolean;
}

/**
 * Names the background tasks that were stopped because they had been waited for long enough.
 *
 * @param tasks as the Stop hook names them
 */
export function unfinishedProblem(tasks: readonly HookPayload[]): Problem {
  const names = tasks.map(({ type, description }) =>
    (type === "shell" || type === "subagent") && typeof description === "string"
      ? `${type} "${description}"`
      : "a task"
  );
  return {
    message: `Stopped waiting for what runs in the background: ${names.join(", ")}`,
    suggestion:
      "Wait longer with CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS=MILLISECONDS, without end with 0",
  };
}
