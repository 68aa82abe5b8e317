import type { Ending } from "../session/effect.ts";
import type { ChildRemains, Exit } from "../session/input.ts";
import type { Limits } from "../session/limits.ts";
import { costOfEntries } from "../transcript/cost.ts";
import { permissionDenialsOf } from "../transcript/permission_denials.ts";
import { sessionListingOf } from "../transcript/session_listing.ts";
import { parseTaskNotification } from "../transcript/task_notification.ts";
import type { Turn } from "../transcript/turn.ts";
import type { Frame, ResultFrame } from "../wire/frame.ts";
import { exitCodeOf, type Outcome } from "../wire/outcome.ts";
import { type FramesState, listOf, withIds } from "./frames_state.ts";
import { resultFrame } from "./result_frame.ts";
import { printedResults, runTurns } from "./results.ts";
import { subagentStats } from "./subagent_stats.ts";
import { type Problem, unfinishedProblem } from "./unfinished_problem.ts";
import { type Verdict, verdictOf } from "./verdict.ts";

/** What has to be known of a run to say what became of it. */
export interface ReportOptions {
  readonly prompt: string;
  /** The command that was to make the prompt, such as `/init`, if one was. */
  readonly command?: string;
  readonly limits: Limits;
  /** Path of the executable. */
  readonly binary: string;
  /** The first character of the prompt that Claude Code may change, in words. */
  readonly altered?: string;
  /** The variable that holds the key or token in use; absent for a login. */
  readonly credential?: string;
  readonly maxTurns?: number;
  /** The folder of the run's recording. */
  readonly record?: string;
}

/** What became of a run. */
export interface Report {
  /** The result of the last turn. */
  readonly result: ResultFrame;
  readonly exitCode: number;
  /** Absent when the result says it all. */
  readonly problem?: Problem;
  /** What the user should know of a run that did not fail, in one line. */
  readonly warning?: string;
  /** Whether the last screen helps to understand a failure. */
  readonly showScreen: boolean;
}

/** How a run came to its end. */
export interface RunEnd {
  readonly ending: Ending;
  /** Absent when the child could not even be killed. */
  readonly exit: Exit | undefined;
  /** Milliseconds from the start of the child to the ending. */
  readonly endingAt: number;
  /** What the child left. */
  readonly remains: ChildRemains;
}

/** Says what became of a run, and its results that have not been told yet. */
export function reportRun(
  state: FramesState,
  end: RunEnd,
  options: ReportOptions,
): {
  readonly state: FramesState;
  readonly frames: readonly Frame[];
  readonly report: Report;
} {
  const { ending, exit, remains } = end;
  const { sessionId, denialMessages } = state.options;
  const { stop, unfinished = [] } = ending.kind === "answered" ? ending : {};
  const announced = stop?.["last_assistant_message"];
  const entries = listOf(state.entries);
  const all = runTurns(state);
  const turns = stop === undefined || unfinished.length > 0 ? withoutStopped(all) : all;
  const turn = turns.at(-1);
  const version = turn?.version ?? state.version ?? remains.version;
  const verdict = checked(
    verdictOf(ending, { ...options, isClaude: version !== undefined, turn }),
    { turns, options, announced, ended: exit !== undefined },
  );
  const told = verdict.outcome.kind === "answered" ? state.typed?.result : undefined;
  const outcome: Outcome = told === undefined
    ? verdict.outcome
    : { kind: "local", text: told, command: "compact" };
  const facts = {
    version: version ?? "unknown",
    sessionId,
    cost: costOfEntries(entries) ?? remains.cost,
    maxOutputTokens: sessionListingOf(entries).maxOutputTokens,
    subagents: subagentStats(turns, {
      stopped: unfinished.filter(({ type }) => type === "subagent").length,
    }),
  };
  const { results: printed } = state;
  // Results that had to wait tell the cost of the end, as those of `claude -p` do.
  const sinceLast = (index: number) =>
    index === printed && printed > 0
      ? undefined
      : index === 0
      ? "everything" as const
      : "nothing" as const;
  const { state: next, made: { earlier, result } } = withIds(state, (newUuid) => ({
    earlier: turns.slice(printed, -1).map((each, offset) =>
      resultFrame({
        ...facts,
        uuid: newUuid(),
        outcome: { kind: "answered" },
        turns: turns.slice(0, printed + offset + 1),
        permissionDenials: permissionDenialsOf(each, denialMessages),
        sinceLast: sinceLast(printed + offset),
      })
    ),
    result: resultFrame({
      ...facts,
      uuid: newUuid(),
      outcome,
      // What a command does is no turn.
      turns: outcome.kind === "local" ? [] : turns,
      permissionDenials: turn === undefined ? [] : permissionDenialsOf(turn, denialMessages),
      ...(typeof announced === "string" ? { lastAssistantMessage: announced } : {}),
      ...(verdict.isForeign === undefined ? {} : { isForeign: verdict.isForeign }),
      ...(outcome.kind === "answered" || outcome.kind === "error_max_turns"
        ? {}
        : { durationMs: Math.round(end.endingAt) }),
      sinceLast: sinceLast(Math.max(0, turns.length - 1)),
    }),
  }));
  const { suggestion } = verdict;
  const message = verdict.message ?? ("message" in outcome ? outcome.message : undefined);
  const isTold = outcome.kind === "answered" && turns.length > 0 && printed >= turns.length;
  const problem = message === undefined
    ? unfinished.length === 0 ? undefined : unfinishedProblem(unfinished, facts.version)
    : { message, ...(suggestion === undefined ? {} : { suggestion }) };
  return {
    state: { ...next, results: turns.length },
    frames: isTold ? [] : printedResults([...earlier, result], facts.version),
    report: {
      result,
      exitCode: exitCodeOf(outcome, turn?.error !== undefined),
      ...(problem === undefined ? {} : { problem }),
      ...(outcome.kind === "answered" && wasKilled(exit)
        ? {
          warning: `Claude Code did not end within ${
            options.limits.exitTimeoutMs / 1000
          } s of its answer and was killed, so the cost is not known`,
        }
        : {}),
      showScreen: verdict.showScreen,
    },
  };
}

/** Leaves out the turns that only the end of the run gave rise to: it stopped tasks, and the child told the model so. */
function withoutStopped(turns: readonly Turn[]): readonly Turn[] {
  const end = turns.findLastIndex(({ prompt }) =>
    parseTaskNotification(prompt?.message.content)?.status !== "killed"
  );
  return turns.slice(0, end + 1);
}

const SIGKILL = 9;

function wasKilled(exit: Exit | undefined): boolean {
  return exit?.kind === "signaled" && exit.signal === SIGKILL;
}

/** Takes an answer back that belongs to no prompt of ours, cannot be read at all, or whose giver never ends. */
function checked(
  verdict: Verdict,
  facts: {
    readonly turns: readonly Turn[];
    readonly options: ReportOptions;
    readonly announced: unknown;
    readonly ended: boolean;
  },
): Verdict {
  if (verdict.outcome.kind !== "answered") return verdict;
  const fail = (outcome: Outcome, suggestion: string): Verdict => ({
    outcome,
    suggestion,
    showScreen: false,
  });
  if (!facts.ended) {
    return fail({
      kind: "exit_timeout",
      message: "Claude Code does not end, not even by SIGKILL: it hangs in the kernel",
    }, "Look for a file system or a device that does not answer");
  }
  const [turn] = facts.turns;
  if (turn === undefined && typeof facts.announced !== "string") {
    return fail({
      kind: "drain_timeout",
      message:
        "Cannot read the answer: Claude Code wrote no transcript and its Stop hook names no text",
    }, "Run again with --trace to see what the child did");
  }
  const { prompt, command } = facts.options;
  const sent = turn?.prompt?.message.content;
  if (typeof sent === "string" && command === undefined && sent !== prompt) {
    const failed = fail({
      kind: "internal_error",
      message: "The prompt did not reach Claude as it is: Claude Code changed it",
    }, "Compare it with the user line of the session's transcript");
    return { ...failed, isForeign: true };
  }
  return verdict;
}
