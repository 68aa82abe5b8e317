import {
  costAtEnd,
  costBefore,
  costSoFar,
  outputLimits,
  usageBefore,
  usageSoFar,
} from "./conversation_cost.ts";
import { ticketsOf } from "../../control/message.ts";
import { announces } from "../../control/end_session.ts";
import type { Cost } from "../../../claude/transcript/cost.ts";
import { collectPermissionDenials } from "../../../claude/transcript/permission_denials.ts";
import type { Turn } from "../../../claude/transcript/turn.ts";
import type { ClaudeLimits } from "../../../claude/wire/claude_limits.ts";
import { exitCodeOf, type Outcome } from "../../../claude/wire/outcome.ts";
import type { ResultFrame } from "../../../claude/wire/result_frame.ts";
import {
  abortedOutcome,
  type Report,
  type ReportOptions,
  unfinishedProblem,
  type Verdict,
} from "../result/verdict.ts";
import { buildResult, type ResultFacts, sentAt, timesToFirst } from "../result/build_result.ts";
import { withTurns } from "../result/turn_totals.ts";
import type { OutputState, OutputStep, TurnEnd } from "../output_state.ts";
import { firstAnswerTimes, forgetRequestsBefore } from "../live/answer_state.ts";
import {
  type ChildEnd,
  type DueEnd,
  type DueTurns,
  dueTurns,
  forgetReported,
  safetyStopsOf,
  subagentsOf,
} from "./run_turns.ts";
import { judgeTurn } from "./judge_turn.ts";
import type { Exit } from "../../control/input.ts";
import { newUuid } from "../emit_frames.ts";
import { EXIT } from "../../../cli_error.ts";

/** An end with all known facts about it. */
interface KnownEnd extends DueEnd, SpentByEnd {
  readonly due: DueTurns;
  readonly verdict: Verdict;
}

/**
 * Emits the results of the turns that have none yet: of a turn that the child outlived, or, with the child's own end,
 * of the last turns.
 *
 * @returns the report of the last of them
 */
export function reportTurns(step: OutputStep, end: TurnEnd, child?: ChildEnd): Report {
  const due = dueTurns(step.state, { end, child });
  const spent = spentByEnd(step.state, { end, child, due });
  const verdict = judgeTurn(step.state, { end, child, due, cost: spent.cost });
  const known: KnownEnd = { ...spent, end, child, due, verdict };
  const { earlier, result } = makeResults(step, known);
  const report = reportOf(step.state, { ...known, result });
  const isReported = needsNoResult(step.state, known);
  recordReported(step, { ...known, isReported });
  if (!isReported) step.emit(...earlier, result);
  return report;
}

/** The version in frames if the version is not known. */
const UNKNOWN = "unknown";

/** The cost and the usage of a conversation up to an end. */
interface SpentByEnd {
  /** The cost; undefined if unknown. */
  readonly cost: Cost | undefined;
  /** The usage of models; undefined if unknown. */
  readonly usage: Cost["modelUsage"] | undefined;
}

function spentByEnd(
  before: OutputState,
  { end: { ending, cost = before.cost }, child, due: { sum } }: DueEnd & {
    readonly due: DueTurns;
  },
): SpentByEnd {
  const state = { ...before, cost };
  const final = child && costAtEnd(state, state.kept.cost ?? child.remains.cost);
  const isUnasked = ending.kind === "settled" && child === undefined;
  return {
    cost: final ?? costSoFar(state, sum) ?? (isUnasked ? costBefore(state) : undefined),
    usage: final?.modelUsage ?? usageSoFar(state, sum),
  };
}

/** Makes the results of the turns that have none yet. The last of them is the result of the end. */
function makeResults(
  step: OutputStep,
  known: KnownEnd,
): { readonly earlier: readonly ResultFrame[]; readonly result: ResultFrame } {
  const { state } = step;
  const { due: { run: { past, printed }, turns }, verdict } = known;
  const facts = sharedFacts(state, known);
  const last = lastFacts(state, known);
  const earlier = turns.slice(printed, -1).map((turn, offset) => {
    const soFar = turns.slice(0, printed + offset + 1);
    return buildResult({
      ...facts,
      uuid: newUuid(step),
      outcome: isInterrupted(turn) ? stoppedOutcome(turn, verdict) : { kind: "answered" },
      turn,
      safetyStops: safetyStopsOf(state, withTurns(past, soFar)),
      index: state.results + offset + state.otherResults,
      permissionDenials: collectPermissionDenials(turn, state.facts.decisions),
      sinceLast: sinceLast(state, { ...known, index: printed + offset }),
    });
  });
  return { earlier, result: buildResult({ ...facts, ...last, uuid: newUuid(step) }) };
}

/** Whether a turn was stopped. The child may have continued with the messages in its queue before it ended. */
export function isInterrupted({ end }: Turn): boolean {
  return end === "interrupted" || end === "interrupted-tool";
}

/**
 * Returns the outcome of a stopped turn that is not the last one. It is the outcome of the last turn if that was
 * stopped, too.
 */
function stoppedOutcome(turn: Turn, { outcome }: Verdict): Outcome {
  const isOwn = outcome.kind === "failed" || LASTED.includes(outcome.kind);
  return isOwn ? abortedOutcome(turn) : outcome;
}

/** Returns the facts that the results of all turns of an end have in common. */
function sharedFacts(
  state: OutputState,
  { cost, due: { sum, version = UNKNOWN }, end: { ending } }: KnownEnd,
) {
  const { unfinished = [] } = ending.kind === "answered" ? ending : {};
  return {
    version,
    sessionId: state.options.sessionId,
    cost,
    maxOutputTokens: outputLimits(state),
    // The subagents of earlier turns are included, even if this turn has no line.
    subagents: subagentsOf(state, sum, {
      stopped: unfinished.filter(({ type }) => type === "subagent").length,
    }),
    safetyStops: safetyStopsOf(state, sum),
    messages: state.taken,
    joined: state.joined,
    fastMode: state.fastMode,
  };
}

/** Outcomes of turns whose duration is computed from their lines. */
const LASTED: readonly Outcome["kind"][] = [
  "answered",
  "error_max_turns",
  "error_max_budget_usd",
  "error_max_structured_output_retries",
];

/** Returns the facts of the result of the last turn, or of a message that has no turn. */
function lastFacts(
  state: OutputState,
  known: KnownEnd,
): Omit<ResultFacts, "uuid" | keyof ReturnType<typeof sharedFacts>> {
  const { due: { run: { past }, turns, turn }, verdict, end: { ending, at } } = known;
  const { outcome, isForeign } = verdict;
  const { startedAt } = state.options;
  const announced = announcedIn(known);
  const promptAt = Date.parse(turn?.prompt?.timestamp ?? "");
  const times = state.observed === undefined
    ? state.exact?.times
    : firstAnswerTimes(state.observed, promptAt - startedAt);
  const place = turns.length > 0 ? past.count + turns.length - 1 : state.results;
  const isLasting = LASTED.includes(outcome.kind) || ending.kind === "settled";
  return {
    outcome,
    // A command that Claude Code carries out is no turn.
    turn: outcome.kind === "local" ? undefined : turn,
    index: Math.max(0, place + state.otherResults),
    permissionDenials: turn === undefined
      ? []
      : collectPermissionDenials(turn, state.facts.decisions),
    ...(announced === undefined ? {} : { lastAssistantMessage: announced }),
    ...(isForeign === undefined ? {} : { isForeign }),
    limits: limitsAfter(state, known),
    streamed: state.streamed,
    timesToFirst: timesToFirst(times, { startedAt, promptAt }),
    sentAt: sentAt(times, { startedAt, promptAt }),
    ...(isLasting ? {} : { durationMs: Math.round(at - state.endedAt) }),
    sinceLast: sinceLast(state, { ...known, index: Math.max(0, turns.length - 1) }),
  };
}

/** Returns the answer in the payload of the Stop hook. */
function announcedIn({ end: { ending } }: DueEnd): string | undefined {
  const answer = ending.kind === "answered" ? ending.stop["last_assistant_message"] : undefined;
  return typeof answer === "string" ? answer : undefined;
}

/**
 * Returns the usage of models in earlier results. Results that had to wait have the cost of the end, as those of
 * `claude -p` do: the first of them includes all of it.
 */
function sinceLast(
  state: OutputState,
  { index, end: { ending }, child, cost, usage, due: { run: { printed } } }: KnownEnd & {
    readonly index: number;
  },
): ResultFacts["sinceLast"] {
  if (ending.kind === "settled" || index > printed) return "nothing";
  if (usage === undefined && (child === undefined || state.results > 0)) return undefined;
  return state.results === 0 ? usageBefore({ ...state, cost }) : state.reportedUsage;
}

/** Returns the usage limits after a turn; undefined if unknown. The turn's cost is shown only with limits. */
function limitsAfter(
  { limits, paidBefore }: OutputState,
  { cost, verdict: { failure } }: KnownEnd,
): ClaudeLimits | undefined {
  const { resetsAt } = failure ?? {};
  const reached = failure?.kind === "usage-limit"
    ? { reached: resetsAt === undefined ? {} : { resets_at: resetsAt } }
    : {};
  if (limits === undefined) return "reached" in reached ? reached : undefined;
  const turnCost = cost === undefined || paidBefore === undefined
    ? undefined
    : cost.totalUsd - paidBefore;
  return {
    ...limits,
    ...(turnCost === undefined ? {} : { turn_cost_usd: Math.max(0, turnCost) }),
    ...reached,
  };
}

/**
 * Whether no result is due: all results have been emitted, or there is none. A conversation has no result if it ends
 * between turns, or while background tasks from before the last result run, unless a scheduled turn was still to come.
 */
function needsNoResult(
  { options, inputClosed, wakeupAt, results }: OutputState,
  { end: { ending }, verdict: { outcome }, due: { run: { printed }, turns, ...due } }: KnownEnd,
): boolean {
  const isAwaited = inputClosed === true && wakeupAt !== undefined;
  const isUnasked = options.conversation === true && due.message === undefined && !isAwaited &&
    (ending.kind === "interrupted" ||
      (ending.kind === "answered" && due.isUnwritten && results > 0));
  return isUnasked || (outcome.kind === "answered" && turns.length > 0 && printed >= turns.length);
}

/** Records that turns have been reported. */
function recordReported(
  step: OutputStep,
  { isReported, end: { ending, at }, cost, usage, due: { run, turns } }: KnownEnd & {
    readonly isReported: boolean;
  },
): void {
  const { streamed, exact, observed, otherResults, reportedUsage, paidBefore } = step.state;
  if (turns.length > run.printed) {
    step.update({ results: run.past.count + turns.length });
    forgetReported(step, run);
  } else step.update({ otherResults: otherResults + (isReported ? 0 : 1) });
  step.update({
    reportedUsage: ending.kind === "settled" ? reportedUsage : usage,
    ...(streamed === undefined ? {} : { streamed: [] }),
    ...(exact === undefined ? {} : { exact: { ...exact, times: undefined } }),
    ...(observed === undefined ? {} : { observed: forgetRequestsBefore(observed, at) }),
    taken: [],
    joined: [],
    endedAt: at,
    paidBefore: cost?.totalUsd ?? paidBefore,
  });
}

/** Returns the report of the last turn. */
function reportOf(
  state: OutputState,
  known: KnownEnd & { readonly result: ResultFrame },
): Report {
  const { result, end: { tickets = [] }, due: { turn }, verdict, cost, child } = known;
  const { outcome, failure, showScreen } = verdict;
  const answered = new Set([...tickets, ...ticketsOf(state.taken)]);
  const announced = announcedIn(known);
  return {
    result,
    exitCode: failure?.isTemporary === true
      ? EXIT.tryLater
      : exitCodeOf(outcome, turn?.error !== undefined),
    ...(answered.size === 0 ? {} : { tickets: [...answered] }),
    ...problemOf(known),
    ...(outcome.kind === "answered" && child !== undefined
      ? endWarning({
        ...child,
        isCostKnown: cost !== undefined,
        isWritten: turn !== undefined &&
          (announced === undefined || announces(announced, turn.text)),
        isAsleep: state.wakeupAt !== undefined,
      }, state.reporting)
      : {}),
    showScreen,
  };
}

/** Returns why there is no complete answer, and a remedy; nothing if the caller has stopped the turn. */
function problemOf(
  { end: { ending }, verdict: { outcome, message, suggestion } }: KnownEnd,
): Pick<Report, "problem"> {
  const { unfinished = [] } = ending.kind === "answered" ? ending : {};
  const cause = ending.kind === "aborted"
    ? undefined
    : message ?? ("message" in outcome ? outcome.message : undefined);
  if (cause !== undefined) {
    return { problem: { message: cause, ...(suggestion === undefined ? {} : { suggestion }) } };
  }
  return unfinished.length === 0 ? {} : { problem: unfinishedProblem(unfinished) };
}

/** Returns the warning at the end of a run with an answer, if there is one. */
function endWarning(
  child: Pick<ChildEnd, "exit" | "isForced"> & {
    readonly isCostKnown: boolean;
    /** Whether the transcript has the answer. */
    readonly isWritten: boolean;
    /** Whether a scheduled wake-up of the model has not happened. */
    readonly isAsleep: boolean;
  },
  options: ReportOptions,
): Pick<Report, "warning"> {
  if (wasKilled(child.exit)) return { warning: killedWarning(child, options) };
  return child.isAsleep && options.keptAsleep ? { warning: ASLEEP } : {};
}

const ASLEEP = "The assistant wants to be woken, which claude -p waits for: this run does not, " +
  "because prompts in .claude/scheduled_tasks.json would be sent as well";

/** Returns the warning about a killed child whose answer is printed nevertheless. */
function killedWarning(
  { isForced, isCostKnown, isWritten }: Pick<ChildEnd, "isForced"> & {
    readonly isCostKnown: boolean;
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
    : "Claude Code was killed after its answer by another process (SIGKILL)";
  return isCostKnown ? killed : `${killed}, so the cost is not known`;
}

const SIGKILL = 9;

function wasKilled(exit: Exit | undefined): boolean {
  return exit?.kind === "signaled" && exit.signal === SIGKILL;
}
