import type { Exit } from "../../control/input.ts";
import type { Report, ReportOptions } from "../result/report.ts";
import type { ChildEnd } from "./due_turns.ts";

/** What is to be said at the end of a run with an answer, if anything is. */
export function endWarning(
  child: Pick<ChildEnd, "exit" | "isForced"> & {
    readonly isPriced: boolean;
    /** Whether the transcript has the answer. */
    readonly isWritten: boolean;
    /** Whether the model was to be woken, and has not been. */
    readonly isAsleep: boolean;
  },
  options: ReportOptions,
): Pick<Report, "warning"> {
  if (wasKilled(child.exit)) return { warning: killedWarning(child, options) };
  return child.isAsleep && options.keptAsleep ? { warning: ASLEEP } : {};
}

const ASLEEP = "The assistant wants to be woken, which claude -p waits for: this run does not, " +
  "because prompts in .claude/scheduled_tasks.json would be sent as well";

/** Says that a child was killed whose answer is told all the same, and by whom. */
function killedWarning(
  { isForced, isPriced, isWritten }: Pick<ChildEnd, "isForced"> & {
    readonly isPriced: boolean;
    readonly isWritten: boolean;
  },
  { limits: { exitTimeoutMs } }: ReportOptions,
): string {
  if (!isWritten) {
    return "Claude Code was killed before it had written its answer down: " +
      "whoever resumes the session goes on without it";
  }
  const killed = isForced
    ? `Claude Code did not end within ${exitTimeoutMs / 1000} s of its answer and was killed`
    : "Claude Code was killed behind its answer by somebody else (SIGKILL)";
  return isPriced ? killed : `${killed}, so the cost is not known`;
}

const SIGKILL = 9;

function wasKilled(exit: Exit | undefined): boolean {
  return exit?.kind === "signaled" && exit.signal === SIGKILL;
}
