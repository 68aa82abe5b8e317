import type { ChildRemains, Exit } from "../../session/input.ts";
import { type Message, ticketsOf } from "../../session/message.ts";
import { announces } from "../../session/turn/ending.ts";
import { permissionDenialsOf } from "../../transcript/turn/permission_denials.ts";
import { firstTimes, forgetFirsts } from "../telling/heard_firsts.ts";
import { timesToFirst } from "../result/times_to_first.ts";
import { parseTaskNotification } from "../../transcript/task_notification.ts";
import type { Turn } from "../../transcript/turn/turn.ts";
import type { ClaudeLimits } from "../../wire/claude_limits.ts";
import type { Frame } from "../../wire/frame.ts";
import { exitCodeOf, type Outcome } from "../../wire/outcome.ts";
import { isTimed } from "../../transcript/entry.ts";
import { costAtEnd, costBefore, costSoFar, usageBefore, usageSoFar } from "./cost_so_far.ts";
import { type FramesState, type TurnEnd, withIds } from "../telling/frames_state.ts";
import { resultFrame } from "../result/result_frame.ts";
import {
  deniedIn,
  letGo,
  printedResults,
  runTurns,
  safetyStopsOf,
  subagentsOf,
} from "./early_results.ts";
import { type Report, type ReportOptions, unfinishedProblem } from "../result/report.ts";
import { withTurns } from "../result/turn_totals.ts";
import { overspentVerdict, type Verdict, verdictOf, wrappedVerdict } from "../result/verdict.ts";

/** How a child came to its end. */
export interface ChildEnd {
  /** Absent when the child could not even be killed. */
  readonly exit: Exit | undefined;
  /** What the child left. */
  readonly remains: ChildRemains;
  /** Whether this program has killed it, because it did not go by itself. */
  readonly isForced: boolean;
}

/** What became of turns, and what is said of it. */
export interface Reported {
  readonly state: FramesState;
  readonly frames: readonly Frame[];
  readonly report: Report;
}

/**
 * Says what became of the turns that have not been told yet: of one that the child outlived, or, with the child's own
 * end, of the last ones.
 */
export function reportTurns(
  state: FramesState,
  { ending, at, tickets = [], cost = state.cost }: TurnEnd,
  child?: ChildEnd,
): Reported {
  const { reporting: options, locals } = state;
  const { sessionId } = state.options;
  const { stop, unfinished = [] } = ending.kind === "answered" ? ending : {};
  const announced = stop?.["last_assistant_message"];
  const run = runTurns(state);
  const { past, recent: all, printed } = run;
  const written = stop === undefined || unfinished.length > 0 ? withoutStopped(all) : all;
  // A command, and a turn that never began, leave no line; what came before them is not theirs.
  const isUnwritten = written.length <= printed &&
    (child === undefined || state.options.conversation === true);
  const turns = isUnwritten || ending.kind === "settled" ? [] : written;
  const turn = turns.at(-1);
  const sum = withTurns(past, written);
  const message = state.taken[0] ?? state.awaited[0];
  const version = turn?.version ?? state.version ?? child?.remains.version ??
    (ending.kind === "settled" && ending.message.settled.kind === "local"
      ? ending.message.settled.version
      : undefined);
  const costTold = child && costAtEnd(state, state.kept.cost ?? child.remains.cost);
  const costNow = costTold ?? costSoFar({ ...state, cost }, sum) ??
    (ending.kind === "settled" && child === undefined ? costBefore(state) : undefined);
  const usageNow = costTold?.modelUsage ?? usageSoFar({ ...state, cost }, sum);
  const judged = confirmed(
    verdictOf(ending, {
      ...options,
      conversation: state.options.conversation,
      command: message?.way === undefined ? undefined : message.command,
      altered: message?.way === undefined ? undefined : message.altered,
      isClaude: version !== undefined,
      turn,
      now: state.options.startedAt + at,
    }),
    {
      turns: turns.slice(printed),
      message,
      texts: state.taken.map(({ text }) => text),
      announced,
      ended: child === undefined || child.exit !== undefined,
    },
  );
  const isOverspent = judged.outcome.kind === "answered" && options.maxBudgetUsd !== undefined &&
    costNow !== undefined && costNow.totalUsd >= options.maxBudgetUsd;
  // As in `claude -p`, an answer that uses the budget up is no answer.
  const verdict = isOverspent ? overspentVerdict(options) : judged;
  const { command, result: told } = state.typed ?? {};
  const outcome: Outcome = command !== undefined && told !== undefined &&
      (verdict.outcome.kind === "answered" || ending.kind === "aborted")
    ? { kind: "local", text: told, command }
    : verdict.outcome;
  const facts = {
    version: version ?? "unknown",
    sessionId,
    cost: costNow,
    maxOutputTokens: state.kept.notes.maxOutputTokens,
    // Those of the turns before too, where this one is in no line.
    subagents: subagentsOf(state, sum, {
      stopped: unfinished.filter(({ type }) => type === "subagent").length,
    }),
    safetyStops: safetyStopsOf(state, sum),
    messages: state.taken,
    fastMode: state.fastMode,
  };
  const limits = limitsAfter(state, { cost: facts.cost?.totalUsd, failure: verdict.failure });
  // Results that had to wait tell the cost of the end, as those of `claude -p` do: the first of them tells all of it.
  const sinceLast = (index: number) =>
    ending.kind === "settled" || index > printed
      ? "nothing" as const
      : usageNow === undefined && (child === undefined || state.results > 0)
      ? undefined
      : state.results === 0
      ? usageBefore({ ...state, cost: costNow })
      : state.usageTold;
  const { startedAt } = state.options;
  const promptAt = Date.parse(turn?.prompt?.timestamp ?? "");
  const times = state.heard === undefined
    ? state.exact?.times
    : firstTimes(state.heard, promptAt - startedAt);
  const { state: next, made: { earlier, result } } = withIds(state, (newUuid) => ({
    earlier: turns.slice(printed, -1).map((each, offset) =>
      resultFrame({
        ...facts,
        uuid: newUuid(),
        outcome: { kind: "answered" },
        turn: each,
        safetyStops: safetyStopsOf(state, withTurns(past, turns.slice(0, printed + offset + 1))),
        index: state.results + offset + locals,
        permissionDenials: permissionDenialsOf(each, deniedIn(state)),
        sinceLast: sinceLast(printed + offset),
      })
    ),
    result: resultFrame({
      ...facts,
      uuid: newUuid(),
      outcome,
      // What a command does is no turn.
      turn: outcome.kind === "local" ? undefined : turn,
      index: Math.max(
        0,
        (turns.length > 0 ? past.count + turns.length - 1 : state.results) + locals,
      ),
      permissionDenials: turn === undefined ? [] : permissionDenialsOf(turn, deniedIn(state)),
      ...(typeof announced === "string" ? { lastAssistantMessage: announced } : {}),
      ...(verdict.isForeign === undefined ? {} : { isForeign: verdict.isForeign }),
      limits,
      streamed: state.streamed,
      timesToFirst: timesToFirst(times, { startedAt, promptAt }),
      ...(outcome.kind === "answered" || outcome.kind === "error_max_turns" ||
          outcome.kind === "error_max_budget_usd" ||
          outcome.kind === "error_max_structured_output_retries" || ending.kind === "settled"
        ? {}
        : { durationMs: Math.round(at - state.endedAt) }),
      sinceLast: sinceLast(Math.max(0, turns.length - 1)),
    }),
  }));
  const { suggestion } = verdict;
  const answered = new Set([...tickets, ...ticketsOf(state.taken)]);
  // The caller has stopped the turn: there is nothing to explain.
  const cause = ending.kind === "aborted"
    ? undefined
    : verdict.message ?? ("message" in outcome ? outcome.message : undefined);
  // A conversation that ends between turns, or with what has run in the background since the last one, has no result,
  // unless it was to go on by itself.
  const isAwaited = state.heardOut === true && state.wakeupAt !== undefined;
  const isUnasked = state.options.conversation === true && message === undefined && !isAwaited &&
    (ending.kind === "interrupted" ||
      (ending.kind === "answered" && isUnwritten && state.results > 0));
  const isTold = isUnasked ||
    (outcome.kind === "answered" && turns.length > 0 && printed >= turns.length);
  const problem = cause === undefined
    ? unfinished.length === 0 ? undefined : unfinishedProblem(unfinished, facts.version)
    : { message: cause, ...(suggestion === undefined ? {} : { suggestion }) };
  const counted = turns.length > printed
    ? letGo({ ...next, results: past.count + turns.length }, run)
    : { ...next, locals: locals + (isTold ? 0 : 1) };
  return {
    state: {
      ...counted,
      usageTold: ending.kind === "settled" ? state.usageTold : usageNow,
      ...(state.streamed === undefined ? {} : { streamed: [] }),
      ...(state.exact === undefined ? {} : { exact: { ...state.exact, times: undefined } }),
      ...(state.heard === undefined ? {} : { heard: forgetFirsts(state.heard, at) }),
      taken: [],
      joined: [],
      endedAt: at,
      paidBefore: facts.cost?.totalUsd ?? state.paidBefore,
    },
    frames: isTold ? [] : printedResults([...earlier, result], facts.version),
    report: {
      result,
      exitCode: verdict.failure?.isTemporary === true
        ? TRY_LATER
        : exitCodeOf(outcome, turn?.error !== undefined),
      ...(answered.size === 0 ? {} : { tickets: [...answered] }),
      ...(problem === undefined ? {} : { problem }),
      ...(outcome.kind === "answered" && child !== undefined
        ? warningOf({
          ...child,
          isPriced: facts.cost !== undefined,
          isWritten: turn !== undefined &&
            (typeof announced !== "string" || announces(announced, turn.text)),
          isAsleep: state.wakeupAt !== undefined,
        }, options)
        : {}),
      showScreen: verdict.showScreen,
    },
  };
}

/** Exit code of a run that may well succeed later: sysexits(3) calls it EX_TEMPFAIL. */
const TRY_LATER = 75;

/** What is left of limits after a turn, as far as it is known; what a turn has cost is told beside it alone. */
function limitsAfter(
  { limits, paidBefore }: FramesState,
  { cost, failure }: { readonly cost: number | undefined; readonly failure: Verdict["failure"] },
): ClaudeLimits | undefined {
  const { resetsAt } = failure ?? {};
  const reached = failure?.kind === "usage-limit"
    ? { reached: resetsAt === undefined ? {} : { resets_at: resetsAt } }
    : {};
  if (limits === undefined) return "reached" in reached ? reached : undefined;
  const turnCost = cost === undefined || paidBefore === undefined ? undefined : cost - paidBefore;
  return {
    ...limits,
    ...(turnCost === undefined ? {} : { turn_cost_usd: Math.max(0, turnCost) }),
    ...reached,
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

/** What is to be said at the end of a run with an answer, if anything is. */
function warningOf(
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

/** Takes an answer back that belongs to no prompt of ours, cannot be read at all, or whose giver never ends. */
function confirmed(
  verdict: Verdict,
  facts: {
    /** Those that are told now. */
    readonly turns: readonly Turn[];
    readonly message: Message | undefined;
    /** The texts that were sent for them. */
    readonly texts: readonly string[];
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
  const { message, texts } = facts;
  const sent = turn?.prompt?.message.content;
  const isOurs = message?.way !== undefined && message.command === undefined;
  // What wakes the model is nobody's message, though one may be on its way.
  const isNobodys = typeof sent === "string" &&
    (parseTaskNotification(sent) !== undefined ||
      (turn?.prompt !== undefined && isTimed(turn.prompt)));
  if (typeof sent === "string" && isOurs && !isNobodys && !texts.includes(sent)) {
    const failed = fail({
      kind: "internal_error",
      message: "The prompt did not reach Claude as it is: Claude Code changed it",
    }, "Compare it with the user line of the session's transcript");
    // Where its line is read before its hook is heard, the turn was not ended by that.
    return wrappedVerdict(sent) ?? { ...failed, isForeign: true };
  }
  return verdict;
}
